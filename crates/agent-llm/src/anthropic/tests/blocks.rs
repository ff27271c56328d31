//! Blocks: their input, their order, their ends.

use super::*;

/// PRV-6: no piece of input, or empty ones, are `{}`; the placeholder is not part of it; input that comes whole is it.
#[test]
fn input_of_all_kinds() {
    let call = |block: &str, pieces: &[&str]| {
        let mut middle = vec![start(0, block)];
        middle.extend(pieces.iter().map(|piece| input(0, piece)));
        middle.push(end(0));
        replay(&anthropic(), &events(&around(&middle, &message_delta("tool_use")))).pop().unwrap()
    };
    let block = |input: &str| format!(r#"{{"type":"tool_use","id":"c1","name":"code__read_file"{input}}}"#);
    let path = r#"{"path":"a"}"#;
    for (given, pieces, expected) in [
        (r#","input":{}"#, &[][..], "{}"),
        (r#","input":{}"#, &["", ""], "{}"),
        ("", &[], "{}"),
        (r#","input":null"#, &[], "{}"),
        (r#","input":{}"#, &[path], path),
        (r#","input":{"path":"a"}"#, &[], path),
        (r#","input":{"path":"a"}"#, &[""], path),
        (r#","input":{"path":"x"}"#, &[path], path),
    ] {
        assert_eq!(call(&block(given), pieces), format!("done tool_use 42+9 c1:code.read_file{expected}"), "{given}");
    }
}

/// STRM-02, STRM-11, STRM-12: input that is no object makes no failed run and is never `{}` in disguise.
#[test]
fn broken_input() {
    for (text, expected) in [
        (
            r#"{"path": "a"}{"path": "b"}"#,
            "{}!(the arguments are not valid JSON: trailing characters at line 1 column 14)",
        ),
        (r#"{"limit": 5,"#, "{}!(the arguments end too early: EOF while parsing a value at line 1 column 12)"),
        ("null", "{}!(the arguments must be a JSON object, not null)"),
        ("[]", "{}!(the arguments must be a JSON object, not an array)"),
        (r#""{\"path\":\"a\"}""#, r#"{"path":"a"}"#),
    ] {
        let middle = [tool_use(0, "c1", "code__read_file"), input(0, text), end(0)];
        check_end(
            &around(&middle, &message_delta("tool_use")),
            &format!("done tool_use 42+9 c1:code.read_file{expected}"),
        );
    }
}

/// STRM-16: several blocks are open at once; their pieces find them by number. STRM-04: where numbers or ids repeat, calls
/// are still two.
#[test]
fn blocks_that_overlap() {
    let calls = r#"done tool_use 42+9 c1:code.read_file{"path":"a"} c2:code.read_file{"path":"b"}"#;
    let name = "code__read_file";
    let interleaved = [
        tool_use(0, "c1", name),
        tool_use(1, "c2", name),
        input(0, "{\"pa"),
        input(1, "{\"pa"),
        input(0, "th\":\"a\"}"),
        input(1, "th\":\"b\"}"),
        end(1),
        end(0),
    ];
    check_end(&around(&interleaved, &message_delta("tool_use")), calls);
    let same_number = [
        tool_use(0, "c1", name),
        input(0, "{\"path\":\"a\"}"),
        tool_use(0, "c2", name),
        input(0, "{\"path\":\"b\"}"),
        end(0),
    ];
    check_end(&around(&same_number, &message_delta("tool_use")), calls);
    let no_number = |event: String| event.replacen("\"index\":0,", "", 1).replacen(",\"index\":0", "", 1);
    let unnumbered: Vec<String> = [
        tool_use(0, "c1", name),
        input(0, "{\"path\":\"a\"}"),
        end(0),
        tool_use(0, "c2", name),
        input(0, "{\"path\":\"b\"}"),
        end(0),
    ]
    .map(no_number)
    .into();
    check_end(&around(&unnumbered, &message_delta("tool_use")), calls);
    let same_id = [
        tool_use(0, "c1", name),
        input(0, "{\"path\":\"a\"}"),
        end(0),
        tool_use(1, "c1", name),
        input(1, "{\"path\":\"b\"}"),
        end(1),
    ];
    check_end(
        &around(&same_id, &message_delta("tool_use")),
        r#"done tool_use 42+9 c1:code.read_file{"path":"a"} call_run_1:code.read_file{"path":"b"}"#,
    );
    let texts = [
        start(0, r#"{"type":"text","text":""}"#),
        start(1, r#"{"type":"thinking","thinking":"","signature":""}"#),
        start(2, r#"{"type":"text","text":""}"#),
        delta(2, r#"{"type":"text_delta","text":"B"}"#),
        delta(1, r#"{"type":"thinking_delta","thinking":"hm"}"#),
        delta(0, r#"{"type":"text_delta","text":"A"}"#),
    ];
    check_end(
        &around(&texts, DONE),
        r#"done end_turn 42+9 kept1{"type":"thinking","thinking":"hm","signature":""} "A" "B""#,
    );
    // A relay that leaves out where blocks begin.
    let unbegun =
        [delta(0, r#"{"type":"thinking_delta","thinking":"hm"}"#), delta(1, r#"{"type":"text_delta","text":"A"}"#)];
    check_end(&around(&unbegun, DONE), r#"done end_turn 42+9 kept0{"type":"thinking","thinking":"hm"} "A""#);
    // Text in many blocks, as cited text comes, is one text.
    let cited = [start(0, r#"{"type":"text","text":"A"}"#), end(0), start(1, r#"{"type":"text","text":" "}"#), end(1)];
    check_end(&around(&cited, DONE), r#"done end_turn 42+9 "A ""#);
}

/// Escapes and characters that are split between pieces.
#[test]
fn characters_split_everywhere() {
    let middle = [
        tool_use(0, "c1", "code__read_file"),
        input(0, "{\"path\":\"\\uD83D"),
        input(0, "\\uDE00\\"),
        input(0, "n你\"}"),
        end(0),
        start(1, r#"{"type":"text","text":""}"#),
        delta(1, r#"{"type":"text_delta","text":"你😀\ud83d\ude00\u2028"}"#),
        end(1),
    ];
    check(
        &around(&middle, &message_delta("tool_use")),
        &[
            "started claude-x",
            "call 0 code.read_file ",
            "more 0 {\"path\":\"\\uD83D",
            "more 0 \\uDE00\\",
            "more 0 n你\"}",
            "text \"你😀😀\\u{2028}\"",
            "done tool_use 42+9 c1:code.read_file{\"path\":\"😀\\n你\"} \"你😀😀\\u{2028}\"",
        ],
    );
}

/// STRM-07: the output limit in the middle of a call: calls are kept for the loop to refuse, the broken one is marked.
#[test]
fn the_output_limit_cuts_a_call() {
    let middle = [
        tool_use(0, "c1", "code__read_file"),
        input(0, "{\"path\":\"a\"}"),
        end(0),
        tool_use(1, "c2", "code__write_file"),
        input(1, "{\"path\":\"a.txt\",\"content\":\"aaa"),
    ];
    check_end(
        &around(&middle, &message_delta("max_tokens")),
        "done max_tokens 42+9 c1:code.read_file{\"path\":\"a\"} c2:code.write_file{}!(cut at the output limit: the arguments end too early: EOF while parsing a string at line 1 column 30)",
    );
}

/// PRV-16: a server that never ends its blocks costs no memory for them, and loses nothing.
#[test]
fn blocks_that_never_end() {
    let many: Vec<String> = (0..300)
        .flat_map(|index| {
            [start(index, r#"{"type":"text","text":""}"#), delta(index, r#"{"type":"text_delta","text":"x"}"#)]
        })
        .collect();
    check_end(&around(&many, DONE), &format!("done end_turn 42+9{}", " \"x\"".repeat(300)));
}

/// PRV-16: blocks that hold nothing cost something all the same: a server cannot send them for ever.
#[test]
fn empty_blocks_are_counted() {
    let empty: String =
        (0..20_000).map(|index| format!("data: {}\n\n", start(index, r#"{"type":"text","text":""}"#))).collect();
    let transcript = decode(&anthropic(), [empty.as_bytes()]);
    assert_eq!(transcript, ["failed it is longer than 1048576 bytes | nothing"]);
}
