//! Habits of Ollama's versions and of servers that imitate it, one fixture each; what they are is told in
//! `docs/design/wire-quirks.md`.

use crate::testing::{Fixture, Outcome, check_fixtures};

use super::*;

const TEXT: &[&str] = &["started gemma4", "text \"Sure\"", "done end_turn 210+17 \"Sure\""];
const CUT: &str = "failed the connection ended early, before the reply was complete | error \"Sure\"";

fn all(name: &'static str, lines: &[&str], expected: &'static [&'static str]) -> Fixture {
    Fixture { name, body: body(lines), outcome: Outcome::All(expected) }
}

fn last(name: &'static str, lines: &[&str], expected: &'static str) -> Fixture {
    Fixture { name, body: body(lines), outcome: Outcome::Last(expected) }
}

/// A line with these calls.
macro_rules! calls {
    ($calls:literal) => {
        concat!(r#"{"message":{"role":"assistant","content":"","tool_calls":["#, $calls, r#"]},"done":false}"#)
    };
}

/// A last line with these fields.
macro_rules! done {
    ($fields:literal) => {
        concat!(r#"{"message":{"role":"assistant","content":""},"done":true,"#, $fields, "}")
    };
}

/// Every fixture of this adapter.
pub(crate) fn fixtures() -> Vec<Fixture> {
    [lines(), replies(), ends()].into_iter().flatten().collect()
}

fn lines() -> Vec<Fixture> {
    let text = |name, body: String| Fixture { name, body: body.into_bytes(), outcome: Outcome::All(TEXT) };
    vec![
        last(
            "characters",
            &[r#"{"message":{"content":"你😀\ud83d\ude00\u2028"},"done":false}"#, DONE],
            "done end_turn 210+17 \"你😀😀\\u{2028}\"",
        ),
        last(
            "characters-in-two",
            &[
                r#"{"message":{"content":"\ud83d"},"done":false}"#,
                r#"{"message":{"content":"\ude00!"},"done":false}"#,
                DONE,
            ],
            "done end_turn 210+17 \"😀!\" mended2",
        ),
        text("byte-order-mark", format!("\u{feff}{SURE}\n{DONE}\n")),
        text("crlf-and-blank-lines", format!("\r\n{SURE}\r\n\r\n{DONE}\r\n")),
        text("no-last-line-end", format!("{SURE}\n{DONE}")),
        last("of-another-protocol", &[r#"{"choices":[]}"#], "failed said \"{\\\"choices\\\":[]}\" | nothing"),
        last("error-line", &[SURE, r#"{"error":"boom"}"#], "failed said \"boom\" | error \"Sure\""),
        last(
            "error-in-error",
            &[
                SURE,
                r#"{"error":"{\"error\":{\"code\":400,\"message\":\"boom\",\"type\":\"exceed_context_size_error\"}}"}"#,
            ],
            "failed said \"boom\" | error \"Sure\"",
        ),
        last("cut-before-done", &[SURE], CUT),
        Fixture {
            name: "cut-in-a-line",
            body: format!("{SURE}\n{}", &DONE[..40]).into_bytes(),
            outcome: Outcome::Last(CUT),
        },
    ]
}

fn replies() -> Vec<Fixture> {
    vec![
        last(
            "no-ids",
            &[
                calls!(
                    r#"{"function":{"name":"code__read_file","arguments":{}}},{"function":{"name":"code__read_file","arguments":{}}}"#
                ),
                DONE,
            ],
            "done tool_use 210+17 call_run_1:code.read_file{} call_run_2:code.read_file{}",
        ),
        last("stop-with-calls", &[CALL, DONE], r#"done tool_use 210+17 call_k3x9a0qz:code.read_file{"path":"a"}"#),
        last(
            "same-index",
            &[
                calls!(r#"{"id":"c1","function":{"index":0,"name":"code__read_file","arguments":{"path":"a"}}}"#),
                calls!(r#"{"id":"c2","function":{"index":0,"name":"code__read_file","arguments":{"path":"b"}}}"#),
                DONE,
            ],
            r#"done tool_use 210+17 c1:code.read_file{"path":"a"} c2:code.read_file{"path":"b"}"#,
        ),
        last(
            "arguments-missing",
            &[calls!(r#"{"id":"c1","function":{"name":"code__read_file"}}"#), DONE],
            "done tool_use 210+17 c1:code.read_file{}",
        ),
        last(
            "arguments-null",
            &[calls!(r#"{"id":"c1","function":{"name":"code__read_file","arguments":null}}"#), DONE],
            "done tool_use 210+17 c1:code.read_file{}",
        ),
        last(
            "arguments-as-text",
            &[calls!(r#"{"id":"c1","function":{"name":"code__read_file","arguments":"{\"path\":\"a\"}"}}"#), DONE],
            r#"done tool_use 210+17 c1:code.read_file{"path":"a"}"#,
        ),
        all(
            "thoughts-in-the-text",
            &[
                r#"{"message":{"content":"<thi"},"done":false}"#,
                r#"{"message":{"content":"nk>hm</think>"},"done":false}"#,
                r#"{"message":{"content":"\n\nYes"},"done":false}"#,
                DONE,
            ],
            &["started m", "think \"hm\"", "text \"Yes\"", "done end_turn 210+17 think\"hm\" \"Yes\""],
        ),
        last(
            "odd-types",
            &[
                r#"{"model":7,"message":{"content":5,"thinking":null,"tool_calls":[null,{"id":"x"},{"id":7,"function":null},{"id":"c1","function":{"name":"code__read_file","arguments":{}}}]},"done":null}"#,
                r#"{"message":"","done":true,"done_reason":1,"prompt_eval_count":210.0,"eval_count":"17"}"#,
            ],
            "done tool_use 210+17 \"5\" c1:code.read_file{} mended2",
        ),
    ]
}

fn ends() -> Vec<Fixture> {
    vec![
        last(
            "loaded",
            &[done!(r#""done_reason":"load""#)],
            "failed the server reports \"load\" instead of an answer | nothing",
        ),
        last(
            "unloaded",
            &[done!(r#""done_reason":"unload""#)],
            "failed the server reports \"unload\" instead of an answer | nothing",
        ),
        last(
            "nothing-delivered",
            &[done!(r#""done_reason":"stop","eval_count":40"#)],
            "failed the server generated 40 tokens and delivered none of them | nothing",
        ),
        last("honestly-empty", &[done!(r#""done_reason":"stop","eval_count":1"#)], "done end_turn"),
        last(
            "full-window",
            &[done!(r#""done_reason":"length","prompt_eval_count":999"#)],
            "failed prompt 999 of 1000 | nothing",
        ),
        last(
            "limit-with-a-call",
            &[CALL, done!(r#""done_reason":"length","prompt_eval_count":210,"eval_count":1000"#)],
            r#"done max_tokens 210+1000 call_k3x9a0qz:code.read_file{"path":"a"}"#,
        ),
        last("no-counts", &[SURE, r#"{"done":true}"#], "done end_turn \"Sure\""),
    ]
}

/// Every fixture, in every cut.
#[test]
fn quirks() {
    check_fixtures(&ollama(json!({})), &fixtures());
}
