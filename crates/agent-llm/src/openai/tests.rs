//! Bodies as servers send them, and what becomes of them. Each is replayed whole, byte by byte and in random cuts.

use crate::testing::{check_body, check_last, decode, replay};

use super::*;

fn openai() -> OpenAi {
    let mut settings = ProviderSettings::new("http://127.0.0.1:1/v1");
    settings.context_window = 1000;
    OpenAi::new(&settings, "127.0.0.1").unwrap()
}

/// One event a line.
fn events(data: &[&str]) -> Vec<u8> {
    data.iter().flat_map(|data| format!("data: {data}\n\n").into_bytes()).collect()
}

#[track_caller]
fn check(data: &[&str], expected: &[&str]) {
    check_body(&openai(), &events(data), expected);
}

/// The end of the transcript only.
#[track_caller]
fn check_end(data: &[&str], expected: &str) {
    check_last(&openai(), &events(data), expected);
}

const ROLE: &str = r#"{"id":"c","object":"chat.completion.chunk","created":1,"model":"gpt-x","choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"finish_reason":null}],"usage":null}"#;
const HI: &str = r#"{"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}],"obfuscation":"aB3"}"#;
const STOP: &str = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
const TOOL_STOP: &str = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#;
const USAGE: &str = r#"{"choices":[],"usage":{"prompt_tokens":50,"completion_tokens":9,"total_tokens":59,"prompt_tokens_details":{"cached_tokens":0}}}"#;
const DONE: &str = "[DONE]";

/// A delta with one piece of a call.
fn piece(call: &str) -> String {
    format!(r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{call}]}},"finish_reason":null}}]}}"#)
}

#[test]
fn canonical_text() {
    check(&[ROLE, HI, STOP, USAGE, DONE], &["started gpt-x", "text \"Hi\"", "done end_turn 50+9 \"Hi\""]);
}

/// STRM-01: names come back canonical. PRV-5: so do ids.
#[test]
fn canonical_parallel_tools() {
    let first =
        piece(r#"{"index":0,"id":"c1","type":"function","function":{"name":"code__read_file","arguments":""}}"#);
    let more = piece(r#"{"index":0,"function":{"arguments":"{\"path\""}}"#);
    let rest = piece(r#"{"index":0,"function":{"arguments":":\"a\"}"}}"#);
    let second =
        piece(r#"{"index":1,"id":"c2","type":"function","function":{"name":"internal__load_skill","arguments":"{}"}}"#);
    check(
        &[ROLE, HI, &first, &more, &rest, &second, TOOL_STOP, USAGE, DONE],
        &[
            "started gpt-x",
            "text \"Hi\"",
            "call 0 code.read_file ",
            "more 0 {\"path\"",
            "more 0 :\"a\"}",
            "call 1 internal.load_skill {}",
            r#"done tool_use 50+9 "Hi" c1:code.read_file{"path":"a"} c2:internal.load_skill{}"#,
        ],
    );
}

/// STRM-04: two calls under index 0, each whole.
#[test]
fn calls_that_share_an_index() {
    let c1 = piece(r#"{"index":0,"id":"c1","function":{"name":"code__read_file","arguments":"{\"path\":\"a\"}"}}"#);
    let c2 = piece(r#"{"index":0,"id":"c2","function":{"name":"code__read_file","arguments":"{\"path\":\"b\"}"}}"#);
    check_end(
        &[&c1, &c2, TOOL_STOP, DONE],
        r#"done tool_use c1:code.read_file{"path":"a"} c2:code.read_file{"path":"b"}"#,
    );
}

/// STRM-16: interleaved pieces.
#[test]
fn interleaved_calls() {
    let pieces = [
        piece(r#"{"index":0,"id":"c1","function":{"name":"code__read_file","arguments":"{\"pa"}}"#),
        piece(r#"{"index":1,"id":"c2","function":{"name":"code__read_file","arguments":"{\"pa"}}"#),
        piece(r#"{"index":0,"function":{"arguments":"th\":\"a\"}"}}"#),
        piece(r#"{"index":1,"function":{"arguments":"th\":\"b\"}"}}"#),
    ];
    let data: Vec<&str> = pieces.iter().map(String::as_str).chain([TOOL_STOP, DONE]).collect();
    check_end(&data, r#"done tool_use c1:code.read_file{"path":"a"} c2:code.read_file{"path":"b"}"#);
}

/// STRM-02, STRM-11, STRM-12, PRV-6: broken arguments make no failed run and are never `{}` in disguise.
#[test]
fn broken_arguments() {
    for (arguments, expected) in [
        (
            r#""{\"path\": \"a\"}{\"path\": \"b\"}""#,
            "{}!(the arguments are not valid JSON: trailing characters at line 1 column 14)",
        ),
        (r#""{\"limit\": 5,""#, "{}!(the arguments end too early: EOF while parsing a value at line 1 column 12)"),
        (r#""null""#, "{}!(the arguments must be a JSON object, not null)"),
        (r#""[]""#, "{}!(the arguments must be a JSON object, not an array)"),
        (r#""3""#, "{}!(the arguments must be a JSON object, not a number)"),
        (r#""""#, "{}"),
        ("null", "{}"),
        (r#"{"path":"a"}"#, r#"{"path":"a"}"#),
        (r#""\"{\\\"path\\\":\\\"a\\\"}\"""#, r#"{"path":"a"}"#),
    ] {
        let call = piece(&format!(
            r#"{{"index":0,"id":"c1","function":{{"name":"code__read_file","arguments":{arguments}}}}}"#
        ));
        check_end(&[&call, TOOL_STOP, DONE], &format!("done tool_use c1:code.read_file{expected}"));
    }
}

/// STRM-14: unknown and misspelt names; the loop answers what stays unknown.
#[test]
fn names_the_model_makes_up() {
    for (said, expected) in [
        ("search_files", "search_files"),
        ("Code.Read_File", "code.read_file"),
        ("code.read_file ", "code.read_file"),
        ("functions.code_read_file", "code.read_file"),
    ] {
        let call = piece(&format!(r#"{{"index":0,"id":"c1","function":{{"name":"{said}","arguments":"{{}}"}}}}"#));
        check_end(&[&call, TOOL_STOP, DONE], &format!("done tool_use c1:{expected}{{}}"));
    }
}

/// STRM-07: the output limit in the middle of a call: calls are kept for the loop to refuse, the broken one is marked.
#[test]
fn the_output_limit_cuts_a_call() {
    let whole = piece(r#"{"index":0,"id":"c1","function":{"name":"code__read_file","arguments":"{\"path\":\"a\"}"}}"#);
    let cut = piece(
        r#"{"index":1,"id":"c2","function":{"name":"code__write_file","arguments":"{\"path\":\"a.txt\",\"content\":\"aaa"}}"#,
    );
    let length = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}"#;
    check_end(
        &[&whole, &cut, length, DONE],
        "done max_tokens c1:code.read_file{\"path\":\"a\"} c2:code.write_file{}!(cut at the output limit: the arguments end too early: EOF while parsing a string at line 1 column 30)",
    );
    // A server that says "tool_calls" although its limit cut the last one.
    let full = r#"{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":1000}}"#;
    let transcript = replay(&openai(), &events(&[&cut, TOOL_STOP, full, DONE]));
    assert!(transcript.last().unwrap().starts_with("done max_tokens 5+1000 "), "{transcript:?}");
}

/// STRM-06, STRM-21, PRV-7: cut at any byte, a reply is never complete before its end mark, no call is left of it, and the
/// message speaks of the connection, not of a limit.
#[test]
fn cut_at_any_byte() {
    let call = piece(
        r#"{"index":0,"id":"c1","function":{"name":"code__write_file","arguments":"{\"path\":\"a.txt\",\"content\":\"h\"}"}}"#,
    );
    let bytes = events(&[ROLE, HI, &call, TOOL_STOP, USAGE, DONE]);
    let text = String::from_utf8(bytes.clone()).unwrap();
    let mark = text.find(TOOL_STOP).unwrap() + TOOL_STOP.len();
    for end in 0..bytes.len() {
        let transcript = decode(&openai(), [&bytes[..end]]);
        let last = transcript.last().unwrap();
        // What follows the end mark cannot spoil the reply any more.
        let complete = last.starts_with("done tool_use");
        assert_eq!(complete, end >= mark, "cut at {end}: {last}");
        assert_eq!(decode(&openai(), bytes[..end].chunks(1)).last(), Some(last), "cut at {end}, byte by byte");
        if !complete {
            assert!(
                last.starts_with("failed the connection ended early") || last.starts_with("failed it holds no content"),
                "{last}"
            );
            assert!(!last.contains("c1:"), "cut at {end}: {last}");
        }
    }
}

/// What one server or another does to ends: any of these is a complete reply.
#[test]
fn ends_of_all_kinds() {
    let text = &["started m", "text \"Hi\"", "done end_turn \"Hi\""];
    check(&[HI, STOP], text);
    check(&[HI, DONE], text);
    check(&[HI, STOP, DONE, "{broken"], text);
    check_body(&openai(), format!("data: {HI}\n\ndata: {STOP}\ndata: [DONE]\n\n").as_bytes(), text);
    check_body(&openai(), format!("data: {HI}\n\ndata: {STOP}").as_bytes(), text);
    // A reason on every chunk ends nothing.
    let noisy = r#"{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}"#;
    check(&[noisy, noisy, USAGE, DONE], &["started m", "text \"a\"", "text \"a\"", "done end_turn 50+9 \"aa\""]);
    check_end(&[HI, r#"{"choices":[{"index":0,"finish_reason":"content_filter"}]}"#], "done content_filter \"Hi\"");
    check_end(&[HI, r#"{"choices":[{"delta":{"refusal":"No."}}]}"#, STOP], "done content_filter \"HiNo.\"");
}

/// Calls decide, not the server's word: it may say "stop" with calls, or "tool_calls" without.
#[test]
fn reasons_that_lie() {
    let call = piece(r#"{"index":0,"id":"c1","function":{"name":"code__read_file","arguments":"{}"}}"#);
    check_end(&[&call, STOP, DONE], "done tool_use c1:code.read_file{}");
    check_end(&[HI, TOOL_STOP, DONE], "done end_turn \"Hi\"");
}

/// STRM-17: an empty reply is complete and empty, for the loop to deal with; content_filter is told as such.
#[test]
fn empty_replies() {
    check(&[STOP], &["started m", "done end_turn"]);
    check(
        &[r#"{"choices":[{"index":0,"delta":{},"finish_reason":"content_filter"}]}"#],
        &["started m", "done content_filter"],
    );
    check(
        &[r#"{"choices":[{"index":0,"delta":{"content":" \n"},"finish_reason":"stop"}]}"#],
        &["started m", "text \" \\n\"", "done end_turn \" \\n\""],
    );
    check(
        &[r#"{"choices":[{"index":0,"delta":{"reasoning":"hm"},"finish_reason":"stop"}]}"#],
        &["started m", "think \"hm\"", "done end_turn think\"hm\""],
    );
}

/// Replies that are none.
#[test]
fn streams_without_an_answer() {
    check_body(&openai(), b"", &["failed it holds no content at all | nothing"]);
    check_body(&openai(), b": ping\n\n", &["failed it holds no content at all | nothing"]);
    check(&[DONE], &["failed it holds no content at all | nothing"]);
    check(&[ROLE], &["failed the connection ended early, before the reply was complete | nothing"]);
    check(
        &[HI],
        &[
            "started m",
            "text \"Hi\"",
            "failed the connection ended early, before the reply was complete | error \"Hi\"",
        ],
    );
    check_end(
        &[HI, r#"{"choices":[{"index":0,"delta":{},"finish_reason":"error"}]}"#],
        "failed the server broke off with \"error\" | error \"Hi\"",
    );
    check_end(
        &[r#"{"choices":[],"usage":{"prompt_tokens":1000,"completion_tokens":0}}"#, DONE],
        "failed prompt 1000 of 1000 | nothing",
    );
    check_end(
        &[r#"{"choices":[{"index":0,"delta":{},"finish_reason":"length"}],"usage":{"prompt_tokens":995}}"#],
        "failed prompt 995 of 1000 | nothing",
    );
    check_end(
        &[
            HI,
            r#"{"choices":[{"index":0,"delta":{},"finish_reason":"model_context_window_exceeded"}],"usage":{"prompt_tokens":400}}"#,
        ],
        "failed prompt 400 of 1000 | error \"Hi\"",
    );
}

/// PRV-7: errors inside a stream with status 200, in the spellings that were seen.
#[test]
fn errors_inside_a_stream() {
    let failed = &["started m", "text \"Hi\"", "failed said \"boom\" | error \"Hi\""];
    check(&[HI, r#"{"error":{"message":"boom","type":"server_error"}}"#], failed);
    check(&[HI, r#"{"error":"boom"}"#, DONE], failed);
    check(
        &[
            HI,
            r#"{"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}],"error":{"code":502,"message":"boom"}}"#,
        ],
        failed,
    );
    check(&[HI, r#"{"object":"error","message":"boom","code":400}"#], failed);
    check_body(
        &openai(),
        format!("data: {HI}\n\nevent: error\ndata: {{\"error\":{{\"message\":\"boom\"}}}}\n\n").as_bytes(),
        failed,
    );
    check_body(
        &openai(),
        format!("data: {HI}\n\nerror: {{\"code\":400,\"message\":\"boom\"}}\n\ndata: [DONE]\n\n").as_bytes(),
        failed,
    );
    check_body(
        &openai(),
        br#"[{"error":{"code":429,"message":"boom","status":"RESOURCE_EXHAUSTED"}}]"#,
        &["failed said \"boom\" | nothing"],
    );
    check_body(&openai(), br#"{"error":"boom"}"#, &["failed said \"boom\" | nothing"]);
    check_body(&openai(), br#"{"detail":"boom"}"#, &["failed said \"boom\" | nothing"]);
    // `null` is no error.
    check_end(&[r#"{"choices":[{"delta":{"content":"Hi"}}],"error":null}"#, STOP], "done end_turn \"Hi\"");
}

/// PRV-11: reasoning is kept apart from text, under whichever name it comes, and not twice.
#[test]
fn reasoning_is_kept_apart() {
    let expected = &["started m", "think \"hm\"", "text \"yes\"", "done end_turn think\"hm\" \"yes\""];
    let yes = r#"{"choices":[{"delta":{"content":"yes"},"finish_reason":"stop"}]}"#;
    check(&[r#"{"choices":[{"delta":{"reasoning_content":"hm","content":null}}]}"#, yes], expected);
    check(&[r#"{"choices":[{"delta":{"reasoning_content":"hm","reasoning":"hm"}}]}"#, yes], expected);
    let parts = r#"{"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"yes"}]},"finish_reason":"stop"}]}"#;
    check(&[parts], expected);
}

/// Usage in all its places; the last that is not zero stands.
#[test]
fn usage_wherever_it_comes() {
    let zero = r#"{"choices":[{"delta":{"content":"Hi"}}],"usage":{"prompt_tokens":0,"completion_tokens":0}}"#;
    let rising = r#"{"choices":[{"delta":{}}],"usage":{"prompt_tokens":50,"completion_tokens":3}}"#;
    check_end(&[zero, rising, STOP, USAGE, DONE], "done end_turn 50+9 \"Hi\"");
    check_end(&[zero, rising, STOP, r#"{"choices":[],"usage":{"prompt_tokens":0}}"#], "done end_turn 50+3 \"Hi\"");
    check_end(
        &[HI, r#"{"choices":[{"finish_reason":"stop"}],"x_groq":{"usage":{"prompt_tokens":7,"completion_tokens":2}}}"#],
        "done end_turn 7+2 \"Hi\"",
    );
    check_end(&[HI, STOP], "done end_turn \"Hi\"");
}

/// FND-72: of several choices one is read, whichever comes first and however they are mixed; that there are others is told.
#[test]
fn one_choice_is_read() {
    let choice = |index: u64, text: &str| format!(r#"{{"index":{index},"delta":{{"content":"{text}"}}}}"#);
    let stop = |index: u64| format!(r#"{{"choices":[{{"index":{index},"delta":{{}},"finish_reason":"stop"}}]}}"#);
    for first in [0, 1, 3] {
        for listed in [true, false] {
            let others = [0_u64, 1, 2].map(|index| if index == first { 7 } else { index });
            let mut data = vec![format!(r#"{{"choices":[{}]}}"#, choice(first, "a"))];
            for round in ["b", "c"] {
                let mut all: Vec<String> = others.iter().map(|other| choice(*other, "no")).collect();
                all.insert(round.len() % 3, choice(first, round));
                if listed {
                    data.push(format!(r#"{{"choices":[{}]}}"#, all.join(",")));
                } else {
                    data.extend(all.iter().map(|choice| format!(r#"{{"choices":[{choice}]}}"#)));
                }
            }
            data.extend(others.map(stop));
            data.push(format!(r#"{{"choices":[{}]}}"#, choice(first, "d")));
            data.push(stop(first));
            let data: Vec<&str> = data.iter().map(String::as_str).collect();
            let reply = crate::testing::reply_to(&openai(), crate::testing::request(), &events(&data));
            assert_eq!(reply.text(), "abcd");
            assert_eq!(reply.metadata["other_choices_left_out"], true);
        }
    }
    let reply = crate::testing::reply_to(&openai(), crate::testing::request(), &events(&[HI, STOP]));
    assert!(!reply.metadata.contains_key("other_choices_left_out"));
}

/// Azure's first chunk without choices and its last without delta; a comment in data; CRLF, no blank, a byte order mark.
#[test]
fn oddities_of_servers() {
    let azure = r#"{"choices":[],"model":"","prompt_filter_results":[{"prompt_index":0}]}"#;
    let late = r#"{"choices":[{"index":0,"finish_reason":null,"content_filter_offsets":{}}]}"#;
    check(&[azure, ROLE, HI, STOP, late, DONE], &["started gpt-x", "text \"Hi\"", "done end_turn \"Hi\""]);
    let crlf = format!(
        "\u{feff}: OPENROUTER PROCESSING\r\n\r\ndata: : ping\r\n\r\ndata:{HI}\r\n\r\nretry: 3\r\n\r\ndata:\r\n\r\ndata:{STOP}\r\n\r\n"
    );
    check_body(&openai(), crlf.as_bytes(), &["started m", "text \"Hi\"", "done end_turn \"Hi\""]);
    let unicode = r#"{"choices":[{"delta":{"content":"你😀\ud83d\ude00\u2028"},"finish_reason":"stop"}]}"#;
    check(&[unicode], &["started m", "text \"你😀😀\\u{2028}\"", "done end_turn \"你😀😀\\u{2028}\""]);
}

/// A server that does not stream although it was asked to.
#[test]
fn one_object_instead_of_a_stream() {
    let body = br#"
    {"id":"x","object":"chat.completion","model":"gpt-x","choices":[{"index":0,"message":{"role":"assistant","content":"Hi",
     "tool_calls":[{"id":"c1","type":"function","function":{"name":"code__read_file","arguments":"{}"}}]},
     "finish_reason":"tool_calls"}],"usage":{"prompt_tokens":5,"completion_tokens":2}}"#;
    check_body(
        &openai(),
        body,
        &["started gpt-x", "text \"Hi\"", "call 0 code.read_file {}", "done tool_use 5+2 \"Hi\" c1:code.read_file{}"],
    );
    check_body(&openai(), &body[..60], &["failed the connection ended early, before the reply was complete | nothing"]);
}

/// What is no JSON is told with its beginning; at the end of the stream it is a cut.
#[test]
fn broken_pieces() {
    check(
        &[HI, "{\"choices\":[}", STOP],
        &[
            "started m",
            "text \"Hi\"",
            "failed a piece of the stream is not valid: expected value at line 1 column 13 in {\"choices\":[} | error \"Hi\"",
        ],
    );
}

pub(crate) mod quirks;
mod requests;
