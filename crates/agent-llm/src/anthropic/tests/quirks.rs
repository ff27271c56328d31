//! Habits of the API and of servers that imitate it, one fixture each; what they are is told in `docs/design/wire-quirks.md`.

use crate::testing::{Fixture, Outcome, check_fixtures};

use super::*;

const WHOLE: &[&str] = &[START, TEXT, HI, END, DONE, STOP];
const SAID: &[&str] = &["started claude-x", "text \"Hi\"", "done end_turn 42+9 \"Hi\""];
const OVERLOADED: &str = r#"{"type":"error","error":{"type":"overloaded_error","message":"boom"}}"#;

fn all(name: &'static str, data: &[&str], expected: &'static [&'static str]) -> Fixture {
    Fixture { name, body: events(data), outcome: Outcome::All(expected) }
}

fn last(name: &'static str, data: &[&str], expected: &'static str) -> Fixture {
    Fixture { name, body: events(data), outcome: Outcome::Last(expected) }
}

fn raw(name: &'static str, body: String) -> Fixture {
    Fixture { name, body: body.into_bytes(), outcome: Outcome::All(SAID) }
}

/// Every fixture of this adapter.
pub(crate) fn fixtures() -> Vec<Fixture> {
    [framing(), blocks(), ends()].into_iter().flatten().collect()
}

fn framing() -> Vec<Fixture> {
    let lines = |line: fn(&str) -> String| WHOLE.iter().map(|data| line(data)).collect::<String>();
    vec![
        raw("crlf", lines(|data| format!("event: x\r\ndata: {data}\r\n\r\n"))),
        raw("lone-cr", lines(|data| format!("data: {data}\r\r"))),
        raw("no-blank", lines(|data| format!("data:{data}\n\n"))),
        raw("comments", lines(|data| format!(": keep-alive\n\ndata: {data}\n\n"))),
        raw("comment-in-data", lines(|data| format!("data: : keep-alive\n\ndata: {data}\n\n"))),
        raw("no-data", lines(|data| format!("event: x\n\nid: 1\n\ndata:\n\ndata: {data}\n\n"))),
        raw("many-data-lines", lines(|data| format!("data: {}\n\n", data.replacen(',', ",\ndata: ", 1)))),
        raw("byte-order-mark", format!("\u{feff}{}", lines(|data| format!("data: {data}\n\n")))),
        raw("glued-events", lines(|data| format!("data: {data}\n"))),
        all("unknown-events", &[PING, r#"{"type":"brand_new","x":[1]}"#, START, PING, TEXT, HI, END, DONE, STOP], SAID),
        last(
            "characters",
            &[
                START,
                TEXT,
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"你😀\ud83d\ude00\u2028"}}"#,
                DONE,
                STOP,
            ],
            "done end_turn 42+9 \"你😀😀\\u{2028}\"",
        ),
        last(
            "characters-in-two",
            &[
                START,
                TEXT,
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\ud83d"}}"#,
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\ude00!"}}"#,
                DONE,
                STOP,
            ],
            "done end_turn 42+9 \"😀!\" mended2",
        ),
        last("no-events", &[], "failed it holds no content at all | nothing"),
    ]
}

fn blocks() -> Vec<Fixture> {
    let call = |name, pieces: &[&str], expected| {
        let mut middle = vec![tool_use(0, "c1", "code__read_file")];
        middle.extend(pieces.iter().map(|piece| input(0, piece)));
        middle.push(end(0));
        Fixture { name, body: events(&around(&middle, &message_delta("tool_use"))), outcome: Outcome::Last(expected) }
    };
    let given = start(0, r#"{"type":"tool_use","id":"c1","name":"code__read_file","input":{"path":"a"}}"#);
    vec![
        call("no-input", &[], "done tool_use 42+9 c1:code.read_file{}"),
        call("empty-input", &["", ""], "done tool_use 42+9 c1:code.read_file{}"),
        call(
            "escapes-in-two",
            &["{\"path\":\"\\uD8", "3D\\uDE00\\", "n\"}"],
            "done tool_use 42+9 c1:code.read_file{\"path\":\"😀\\n\"}",
        ),
        call(
            "input-that-is-no-json",
            &["{\"limit\": 5,"],
            "done tool_use 42+9 c1:code.read_file{}!(the arguments end too early: EOF while parsing a value at line 1 \
             column 12)",
        ),
        last(
            "argument-characters-in-two",
            &[
                START,
                &tool_use(0, "c1", "code__read_file"),
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"path\":\"\ud83d"}}"#,
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"\ude00\"}"}}"#,
                &message_delta("tool_use"),
                STOP,
            ],
            "done tool_use 42+9 c1:code.read_file{\"path\":\"😀\"} mended2",
        ),
        Fixture {
            name: "input-at-the-start",
            body: events(&around(&[given, end(0)], &message_delta("tool_use"))),
            outcome: Outcome::Last(r#"done tool_use 42+9 c1:code.read_file{"path":"a"}"#),
        },
        last(
            "signed-thoughts",
            &[
                START,
                &start(0, r#"{"type":"thinking","thinking":"","signature":""}"#),
                &delta(0, r#"{"type":"signature_delta","signature":"old"}"#),
                &delta(0, r#"{"type":"signature_delta","signature":"new"}"#),
                &end(0),
                DONE,
                STOP,
            ],
            r#"done end_turn 42+9 kept0{"type":"thinking","thinking":"","signature":"new"}"#,
        ),
        last(
            "odd-types",
            &[
                START,
                r#"{"type":"content_block_start","index":"0","content_block":{"type":"text","text":""}}"#,
                r#"{"type":"content_block_delta","index":0.0,"delta":{"type":"text_delta","text":5}}"#,
                r#"{"type":"content_block_delta","index":0,"delta":7}"#,
                DONE,
                STOP,
            ],
            "done end_turn 42+9 \"5\" mended3",
        ),
    ]
}

fn ends() -> Vec<Fixture> {
    const LIMIT: &str = "done max_tokens 42+9 c1:code.read_file{}!(cut at the output limit: the arguments end too early: EOF while parsing a string at line 1 column 10)";
    vec![
        last(
            "no-end-mark",
            &[START, TEXT, HI, END, DONE],
            "failed the connection ended early, before the reply was complete | error 42+9 \"Hi\"",
        ),
        last("error-event", &[START, TEXT, HI, OVERLOADED], "failed said \"boom\" | error 42+1 \"Hi\""),
        all("error-first", &[OVERLOADED], &["failed said \"boom\" | nothing"]),
        last(
            "end-with-calls",
            &[START, &tool_use(0, "c1", "code__read_file"), DONE, STOP],
            "done tool_use 42+9 c1:code.read_file{}",
        ),
        last(
            "calls-without-calls",
            &[START, TEXT, HI, END, &message_delta("tool_use"), STOP],
            "done end_turn 42+9 \"Hi\"",
        ),
        last(
            "limit-in-a-call",
            &[
                START,
                &tool_use(0, "c1", "code__read_file"),
                &input(0, "{\"path\":\"a"),
                &message_delta("max_tokens"),
                STOP,
            ],
            LIMIT,
        ),
        last(
            "counts-replace",
            &[START, TEXT, HI, r#"{"type":"message_delta","delta":{},"usage":{"output_tokens":3}}"#, DONE, STOP],
            "done end_turn 42+9 \"Hi\"",
        ),
        last("empty-end", &[START, DONE, STOP], "done end_turn 42+9"),
        last("two-beginnings", &[START, START, TEXT, HI, END, DONE, STOP], "done end_turn 42+9 \"Hi\""),
    ]
}

/// Every fixture, in every cut.
#[test]
fn quirks() {
    check_fixtures(&anthropic(), &fixtures());
}
