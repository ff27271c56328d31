//! How a stream ends, and where it does not.

use super::*;

/// Why a reply ended. The word alone makes no call. Calls decide where the word cannot be trusted.
#[test]
fn reasons() {
    let text = [TEXT.to_owned(), HI.to_owned(), END.to_owned()];
    for (word, expected) in [
        ("end_turn", "end_turn"),
        ("max_tokens", "max_tokens"),
        ("stop_sequence", "stop_sequence"),
        ("tool_use", "end_turn"),
        ("refusal", "content_filter"),
        ("pause_turn", "max_tokens"),
        ("brand_new", "end_turn"),
    ] {
        check_end(&around(&text, &message_delta(word)), &format!("done {expected} 42+9 \"Hi\""));
    }
    let call = [tool_use(0, "c1", "code__read_file"), end(0)];
    for (word, expected) in [("end_turn", "tool_use"), ("pause_turn", "tool_use"), ("refusal", "content_filter")] {
        check_end(&around(&call, &message_delta(word)), &format!("done {expected} 42+9 c1:code.read_file{{}}"));
    }
    let explained =
        r#"{"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":{"category":"x"}},"usage":{}}"#;
    check_end(&around(&text, explained), "done content_filter 42+1 \"Hi\"");
}

/// Several deltas of the message, each with some of the counts; the last word and the last count stand.
#[test]
fn counts_replace_each_other() {
    let first = r#"{"type":"message_delta","delta":{"stop_reason":null},"usage":{"output_tokens":3}}"#;
    let second = r#"{"type":"message_delta","delta":{},"usage":{"input_tokens":20,"output_tokens":9}}"#;
    check_end(&[START, TEXT, HI, END, first, DONE, second, STOP], "done end_turn 50+9 \"Hi\"");
    let bare = START.replace(r#","usage":{"input_tokens":12,"cache_creation_input_tokens":0,"cache_read_input_tokens":30,"output_tokens":1}"#, "");
    check_end(&[&bare, TEXT, HI, END, STOP], "done end_turn \"Hi\"");
}

/// STRM-06, STRM-21, PRV-7: cut at any byte, a reply is never complete before its end mark, no call is left of it, and the
/// message speaks of the connection, not of a limit.
#[test]
fn cut_at_any_byte() {
    let middle = [
        start(0, r#"{"type":"thinking","thinking":"hm","signature":"s"}"#),
        end(0),
        tool_use(1, "c1", "code__write_file"),
        input(1, "{\"path\":\"a.txt\",\"content\":\"h\"}"),
        end(1),
    ];
    let bytes = events(&around(&middle, &message_delta("tool_use")));
    let mark = String::from_utf8(bytes.clone()).unwrap().find(STOP).unwrap() + STOP.len();
    for end in 0..bytes.len() {
        let last = decode(&anthropic(), [&bytes[..end]]).pop().unwrap();
        assert_eq!(last.starts_with("done tool_use"), end >= mark, "cut at {end}: {last}");
        let bytewise = decode(&anthropic(), bytes[..end].chunks(1)).pop();
        assert_eq!(bytewise.as_deref(), Some(&*last), "cut at {end}, byte by byte");
        if end < mark {
            assert!(last.starts_with(TRUNCATED) || last.starts_with("failed it holds no content"), "{last}");
            assert!(!last.contains("c1:"), "cut at {end}: {last}");
        }
    }
}

/// Every event is there but the last one: the server promised more. OpenAI's mark promises nothing here.
#[test]
fn without_the_end_mark() {
    let failed = &["started claude-x", "text \"Hi\"", &format!("{TRUNCATED} | error 42+9 \"Hi\"")];
    check(&[START, TEXT, HI, END, DONE], failed);
    check(&[START, TEXT, HI, END, DONE, "[DONE]"], failed);
    check_end(&[START, TEXT, HI, END, DONE, "[DONE]", STOP], "done end_turn 42+9 \"Hi\"");
    check_end(&[START, TEXT, HI, END, DONE, STOP, "{broken"], "done end_turn 42+9 \"Hi\"");
}

/// STRM-17: an empty reply is complete and empty, for the loop to deal with; a refusal is told as such.
#[test]
fn empty_replies() {
    check(&[START, DONE, STOP], &["started claude-x", "done end_turn 42+9"]);
    check(&[START, TEXT, END, &message_delta("refusal"), STOP], &["started claude-x", "done content_filter 42+9"]);
    check(
        &[START, TEXT, &delta(0, r#"{"type":"text_delta","text":" \n"}"#), END, DONE, STOP],
        &["started claude-x", "text \" \\n\"", "done end_turn 42+9 \" \\n\""],
    );
}

/// Streams that hold no answer.
#[test]
fn streams_without_an_answer() {
    let empty = &["failed it holds no content at all | nothing"];
    check_body(&anthropic(), b"", empty);
    check_body(&anthropic(), b": ping\n\n", empty);
    check(&["[DONE]"], empty);
    check(&[START, STOP], empty);
    check(&[START], &[&format!("{TRUNCATED} | nothing")]);
    check(&[PING], &[&format!("{TRUNCATED} | nothing")]);
    check(&[START, &message_delta("model_context_window_exceeded"), STOP], &["failed prompt 42 of 1000 | nothing"]);
    let full = START.replace("\"input_tokens\":12", "\"input_tokens\":960");
    check(&[&full, &message_delta("max_tokens"), STOP], &["failed prompt 990 of 1000 | nothing"]);
}

/// DEC-227: where the window is full the prompt is too long, whatever has come: text, a call, both. No call is left of it.
#[test]
fn the_window_is_exceeded() {
    let text = [TEXT.to_owned(), HI.to_owned(), END.to_owned()];
    let call = [tool_use(0, "c1", "code__read_file"), end(0)];
    let delta = message_delta("model_context_window_exceeded");
    check_end(&around(&text, &delta), "failed prompt 42 of 1000 | error 42+9 \"Hi\"");
    let failed = decode(&anthropic(), [&*events(&around(&call, &delta))]).pop().unwrap();
    assert!(failed.starts_with("failed prompt 42 of 1000") && !failed.contains("c1:"), "{failed}");
}

/// PRV-7: errors with status 200, in the spellings that were seen; the first event may be one.
#[test]
fn errors_inside_a_stream() {
    let failed = &["started claude-x", "text \"Hi\"", "failed said \"Overloaded\" | error 42+1 \"Hi\""];
    let overloaded = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    check(&[START, TEXT, HI, overloaded], failed);
    check(&[START, TEXT, HI, overloaded, STOP], failed);
    check(&[START, TEXT, HI, r#"{"error":{"type":"overloaded_error","message":"Overloaded"}}"#], failed);
    let named =
        |data: &str| [events(&[START, TEXT, HI]), format!("event: error\ndata: {data}\n\n").into_bytes()].concat();
    check_body(&anthropic(), &named(r#"{"error":"Overloaded"}"#), failed);
    check_body(&anthropic(), &named("Overloaded"), failed);
    check(&[overloaded], &["failed said \"Overloaded\" | nothing"]);
    check(&[START, overloaded], &["failed said \"Overloaded\" | nothing"]);
    for body in [
        overloaded,
        r#"{"error":{"message":"Overloaded"}}"#,
        r#"{"detail":"Overloaded"}"#,
        r#"[{"error":"Overloaded"}]"#,
    ] {
        check_body(&anthropic(), body.as_bytes(), &["failed said \"Overloaded\" | nothing"]);
    }
}

/// A relay may repeat the beginning; a second message inside the first is no reply.
#[test]
fn beginnings_that_repeat() {
    check_end(&[START, START, TEXT, HI, END, DONE, STOP], "done end_turn 42+9 \"Hi\"");
    let last = decode(&anthropic(), [&*events(&[START, TEXT, HI, &START.replace("msg_1", "msg_2")])]).pop().unwrap();
    assert!(
        last.starts_with(
            "failed a piece of the stream is not valid: message msg_2 begins before message msg_1 has ended"
        ),
        "{last}"
    );
}
