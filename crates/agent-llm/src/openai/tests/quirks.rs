//! Habits of servers, one fixture each; what they are is told in `docs/design/wire-quirks.md`.

use crate::testing::{Fixture, Outcome, check_fixtures};

use super::*;

/// A delta with pieces of calls.
macro_rules! piece {
    ($($call:literal),+) => {
        concat!(r#"{"choices":[{"index":0,"delta":{"tool_calls":["#, $($call),+, r#"]},"finish_reason":null}]}"#)
    };
}

/// A delta with these fields.
macro_rules! delta {
    ($fields:literal) => {
        concat!(r#"{"choices":[{"index":0,"delta":{"#, $fields, r#"},"finish_reason":null}]}"#)
    };
}

const NOISY: &str = r#"{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}"#;
const C1: &str =
    piece!(r#"{"index":0,"id":"c1","function":{"name":"code__read_file","arguments":"{\"path\":\"a\"}"}}"#);
const C1_BEGINS: &str =
    piece!(r#"{"index":0,"id":"c1","type":"function","function":{"name":"code__read_file","arguments":"{\"pa"}}"#);
const TEXT: &[&str] = &["started m", "text \"Hi\"", "done end_turn \"Hi\""];
const ONE: &str = r#"done tool_use c1:code.read_file{"path":"a"}"#;
const TWO: &str = r#"done tool_use c1:code.read_file{"path":"a"} c2:code.read_file{"path":"b"}"#;
const FAILED: &str = "failed said \"boom\" | error \"Hi\"";
const EMPTY: &[&str] = &["failed it holds no content at all | nothing"];
const CUT: &str = "failed the connection ended early, before the reply was complete | error \"Hi\"";

fn all(name: &'static str, data: &[&str], expected: &'static [&'static str]) -> Fixture {
    Fixture { name, body: events(data), outcome: Outcome::All(expected) }
}

fn last(name: &'static str, data: &[&str], expected: &'static str) -> Fixture {
    Fixture { name, body: events(data), outcome: Outcome::Last(expected) }
}

fn raw(name: &'static str, body: String, expected: &'static [&'static str]) -> Fixture {
    Fixture { name, body: body.into_bytes(), outcome: Outcome::All(expected) }
}

fn raw_last(name: &'static str, body: String, expected: &'static str) -> Fixture {
    Fixture { name, body: body.into_bytes(), outcome: Outcome::Last(expected) }
}

/// Every fixture of this adapter.
pub(crate) fn fixtures() -> Vec<Fixture> {
    [framing(), calls(), older_calls(), arguments(), errors(), ends(), oddities()].into_iter().flatten().collect()
}

fn framing() -> Vec<Fixture> {
    vec![
        last(
            "characters",
            &[delta!(r#""content":"你😀\ud83d\ude00\u2028""#), STOP],
            "done end_turn \"你😀😀\\u{2028}\"",
        ),
        raw("crlf", format!("data: {HI}\r\n\r\ndata: {STOP}\r\n\r\n"), TEXT),
        raw("lone-cr", format!("data: {HI}\r\rdata: {STOP}\r\r"), TEXT),
        raw("no-blank", format!("data:{HI}\n\ndata:{STOP}\n\n"), TEXT),
        raw("comments", format!(": OPENROUTER PROCESSING\n\ndata: {HI}\n\n: keep-alive\n\ndata: {STOP}\n\n"), TEXT),
        raw("comment-in-data", format!("data: : OPENROUTER PROCESSING\n\ndata: {HI}\n\ndata: {STOP}\n\n"), TEXT),
        raw("no-data", format!("retry: 3\n\nid: 1\n\ndata:\n\ndata: {HI}\n\ndata: {STOP}\n\n"), TEXT),
        raw(
            "many-data-lines",
            format!("data: {{\"choices\":\ndata: [{{\"delta\":{{\"content\":\"Hi\"}}}}]}}\n\ndata: {STOP}\n\n"),
            TEXT,
        ),
        raw("byte-order-mark", format!("\u{feff}data: {HI}\n\ndata: {STOP}\n\n"), TEXT),
        raw("only-comments", ": ping\n\n: ping\n\n".to_owned(), EMPTY),
        all("only-done", &[DONE], EMPTY),
        raw("nothing", String::new(), EMPTY),
        raw("no-last-blank-line", format!("data: {HI}\n\ndata: {STOP}"), TEXT),
        raw("glued-done", format!("data: {HI}\n\ndata: {STOP}\ndata: [DONE]\n\n"), TEXT),
        raw(
            "unknown-events",
            format!(
                "event: ping\ndata: ping\n\nevent: heartbeat\ndata: .\n\ndata: {{\"message\":\"queued\"}}\n\ndata: {HI}\n\n\
                 data: {STOP}\n\ndata: {{\"type\":\"summary\",\"message\":\"bye\"}}\n\n"
            ),
            TEXT,
        ),
        raw_last(
            "broken-named-event",
            format!("data: {HI}\n\nevent: chunk\ndata: {{\"choices\":[}}\n\ndata: {STOP}\n\n"),
            "failed a piece of the stream is not valid: expected value at line 1 column 13 in {\"choices\":[} | error \"Hi\"",
        ),
        raw("events-as-lines", format!("{HI}\n{STOP}\n"), TEXT),
        raw_last("events-as-lines-cut", format!("{HI}\n{}", &STOP[..20]), CUT),
        raw_last("one-line-and-no-more", HI.to_owned(), CUT),
    ]
}

fn calls() -> Vec<Fixture> {
    vec![
        last(
            "no-index",
            &[
                piece!(r#"{"id":"c1","function":{"name":"code__read_file","arguments":"{\"path\":\"a\"}"}}"#),
                piece!(r#"{"id":"c2","function":{"name":"code__read_file","arguments":"{\"path\":\"b\"}"}}"#),
                TOOL_STOP,
            ],
            TWO,
        ),
        last(
            "same-index",
            &[
                C1,
                piece!(r#"{"index":0,"id":"c2","function":{"name":"code__read_file","arguments":"{\"path\":\"b\"}"}}"#),
                TOOL_STOP,
            ],
            TWO,
        ),
        last(
            "index-one-for-all",
            &[
                piece!(r#"{"index":1,"id":"c1","function":{"name":"code__read_file","arguments":"{\"path\":\"a\"}"}}"#),
                piece!(r#"{"index":1,"id":"c2","function":{"name":"code__read_file","arguments":"{\"path\":\"b\"}"}}"#),
                TOOL_STOP,
            ],
            TWO,
        ),
        last(
            "one-id-for-all",
            &[
                C1_BEGINS,
                piece!(r#"{"index":1,"id":"c1","function":{"name":"code__read_file","arguments":"{\"pa"}}"#),
                piece!(r#"{"index":0,"function":{"arguments":"th\":\"a\"}"}}"#),
                piece!(r#"{"index":1,"function":{"arguments":"th\":\"b\"}"}}"#),
                TOOL_STOP,
            ],
            r#"done tool_use c1:code.read_file{"path":"a"} call_run_1:code.read_file{"path":"b"}"#,
        ),
        last(
            "one-id-without-index",
            &[
                piece!(
                    r#"{"id":"c1","function":{"name":"code__read_file","arguments":"{\"path\":\"a\"}"}},"#,
                    r#"{"id":"c1","function":{"name":"code__read_file","arguments":"{\"path\":\"b\"}"}}"#
                ),
                TOOL_STOP,
            ],
            r#"done tool_use c1:code.read_file{"path":"a"} call_run_1:code.read_file{"path":"b"}"#,
        ),
        last(
            "id-on-every-piece",
            &[C1_BEGINS, piece!(r#"{"index":0,"id":"c1","function":{"arguments":"th\":\"a\"}"}}"#), TOOL_STOP],
            ONE,
        ),
        last(
            "empty-id",
            &[C1_BEGINS, piece!(r#"{"index":0,"id":"","function":{"name":"","arguments":"th\":\"a\"}"}}"#), TOOL_STOP],
            ONE,
        ),
        last(
            "changing-id",
            &[C1_BEGINS, piece!(r#"{"index":0,"id":"x9","function":{"arguments":"th\":\"a\"}"}}"#), TOOL_STOP],
            ONE,
        ),
        last(
            "changing-id-without-index",
            &[
                piece!(r#"{"id":"c1","function":{"name":"code__read_file","arguments":"{\"pa"}}"#),
                piece!(r#"{"id":"x9","function":{"arguments":"th\":\"a\"}"}}"#),
                TOOL_STOP,
            ],
            ONE,
        ),
        last(
            "late-index",
            &[
                piece!(r#"{"id":"c1","function":{"name":"code__read_file","arguments":""}}"#),
                piece!(r#"{"index":0,"function":{"arguments":"{\"path\":\"a\"}"}}"#),
                TOOL_STOP,
            ],
            ONE,
        ),
        last(
            "no-id",
            &[piece!(r#"{"index":0,"function":{"name":"code__read_file","arguments":"{}"}}"#), TOOL_STOP],
            "done tool_use call_run_1:code.read_file{}",
        ),
        last(
            "two-in-one-piece",
            &[
                piece!(
                    r#"{"index":0,"id":"c1","function":{"name":"code__read_file","arguments":"{\"path\":\"a\"}"}},"#,
                    r#"{"index":0,"id":"c2","function":{"name":"code__read_file","arguments":"{\"path\":\"b\"}"}}"#
                ),
                TOOL_STOP,
            ],
            TWO,
        ),
        all(
            "arguments-before-name",
            &[
                piece!(r#"{"index":0,"id":"c1","function":{"arguments":"{\"path\":"}}"#),
                piece!(r#"{"index":0,"function":{"name":"code__read_file","arguments":"\"a\"}"}}"#),
                TOOL_STOP,
            ],
            &["started m", r#"call 0 code.read_file {"path":"a"}"#, ONE],
        ),
        last(
            "name-on-every-piece",
            &[
                C1_BEGINS,
                piece!(r#"{"index":0,"function":{"name":"code__read_file","arguments":"th\":\"a\"}"}}"#),
                TOOL_STOP,
            ],
            ONE,
        ),
        last(
            "interleaved",
            &[
                C1_BEGINS,
                piece!(r#"{"index":1,"id":"c2","function":{"name":"code__read_file","arguments":"{\"pa"}}"#),
                piece!(r#"{"index":0,"function":{"arguments":"th\":\"a\"}"}}"#),
                piece!(r#"{"index":1,"function":{"arguments":"th\":\"b\"}"}}"#),
                TOOL_STOP,
            ],
            TWO,
        ),
        last(
            "changing-answer-id",
            &[
                r#"{"id":"a","choices":[{"delta":{"content":"x"}}]}"#,
                r#"{"id":"b","choices":[{"delta":{"content":"y"}}]}"#,
                r#"{"id":"a","choices":[{"delta":{"content":"z"}}]}"#,
                STOP,
            ],
            "done end_turn \"xyz\"",
        ),
        last("call-in-one-piece", &[C1, piece!(r#"{"index":0,"function":{"arguments":"\n"}}"#), TOOL_STOP], ONE),
    ]
}

fn arguments() -> Vec<Fixture> {
    vec![
        last(
            "escapes-in-two",
            &[
                piece!(
                    r#"{"index":0,"id":"c1","function":{"name":"code__read_file","arguments":"{\"path\":\"\\uD8"}}"#
                ),
                piece!(r#"{"index":0,"function":{"arguments":"3D\\uDE00\\"}}"#),
                piece!(r#"{"index":0,"function":{"arguments":"n\"}"}}"#),
                TOOL_STOP,
            ],
            "done tool_use c1:code.read_file{\"path\":\"😀\\n\"}",
        ),
        all(
            "characters-in-two",
            &[delta!(r#""content":"\ud83d""#), delta!(r#""content":"\ude00!""#), STOP],
            &["started m", "text \"😀!\"", "done end_turn \"😀!\" mended2"],
        ),
        last(
            "half-characters",
            &[delta!(r#""reasoning":"\ude00""#), delta!(r#""content":"a\ud83d""#), STOP],
            "done end_turn think\"\u{fffd}\" \"a\u{fffd}\" mended2",
        ),
        last(
            "argument-characters-in-two",
            &[
                piece!(
                    r#"{"index":0,"id":"c1","function":{"name":"code__read_file","arguments":"{\"path\":\"\ud83d"}}"#
                ),
                piece!(r#"{"index":0,"function":{"arguments":"\ude00\"}"}}"#),
                TOOL_STOP,
            ],
            "done tool_use c1:code.read_file{\"path\":\"😀\"}",
        ),
        last(
            "arguments-as-object",
            &[
                piece!(r#"{"index":0,"id":"c1","function":{"name":"code__read_file","arguments":{"path":"a"}}}"#),
                TOOL_STOP,
            ],
            ONE,
        ),
        last(
            "arguments-empty",
            &[piece!(r#"{"index":0,"id":"c1","function":{"name":"code__read_file","arguments":""}}"#), TOOL_STOP],
            "done tool_use c1:code.read_file{}",
        ),
        last(
            "arguments-missing",
            &[piece!(r#"{"index":0,"id":"c1","function":{"name":"code__read_file"}}"#), TOOL_STOP],
            "done tool_use c1:code.read_file{}",
        ),
        last(
            "arguments-null",
            &[
                piece!(r#"{"index":0,"id":"c1","function":{"name":"code__read_file","arguments":null}}"#),
                piece!(r#"{"index":0,"function":{"arguments":"{\"path\":\"a\"}"}}"#),
                TOOL_STOP,
            ],
            ONE,
        ),
        last(
            "arguments-encoded-twice",
            &[
                piece!(
                    r#"{"index":0,"id":"c1","function":{"name":"code__read_file","arguments":"\"{\\\"path\\\":\\\"a\\\"}\""}}"#
                ),
                TOOL_STOP,
            ],
            ONE,
        ),
        last(
            "placeholder-arguments",
            &[
                piece!(r#"{"index":0,"id":"c1","function":{"name":"code__read_file","arguments":"{}"}}"#),
                piece!(r#"{"index":0,"function":{"name":"code__read_file","arguments":"{\"path\":\"a\"}"}}"#),
                TOOL_STOP,
            ],
            ONE,
        ),
    ]
}

/// The one call of older servers, as they stream it or send it whole, and beside the list that says the same.
fn older_calls() -> Vec<Fixture> {
    const STOP_CALL: &str = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"function_call"}]}"#;
    const CALL: &str = r#"done tool_use call_run_1:code.read_file{"path":"a"}"#;
    vec![
        last(
            "function-call",
            &[delta!(r#""function_call":{"name":"code__read_file","arguments":"{\"path\":\"a\"}"}"#), STOP_CALL],
            CALL,
        ),
        last(
            "function-call-in-pieces",
            &[
                delta!(r#""function_call":{"name":"code__read_file"}"#),
                delta!(r#""function_call":{"arguments":"{\"pa"}"#),
                delta!(r#""function_call":{"arguments":"th\":\"a\"}"}"#),
                STOP_CALL,
            ],
            CALL,
        ),
        raw_last(
            "function-call-not-streamed",
            r#"{"choices":[{"index":0,"message":{"content":null,"function_call":{"name":"code__read_file","arguments":"{\"path\":\"a\"}"}},"finish_reason":"function_call"}]}"#
                .to_owned(),
            CALL,
        ),
        last(
            "function-call-beside-calls",
            &[
                delta!(
                    r#""tool_calls":[{"index":0,"id":"c1","function":{"name":"code__read_file","arguments":"{\"path\":\"a\"}"}}],"function_call":{"name":"code__read_file","arguments":"{\"path\":\"a\"}"}"#
                ),
                STOP_CALL,
            ],
            ONE,
        ),
        last("function-call-null", &[delta!(r#""content":"Hi","function_call":null"#), STOP], "done end_turn \"Hi\""),
    ]
}

fn errors() -> Vec<Fixture> {
    let after = |rest: &str| format!("data: {HI}\n\n{rest}\n\n");
    vec![
        raw_last("error-field", after("error: {\"code\":400,\"message\":\"boom\"}\ndata: [DONE]"), FAILED),
        last("swallowed-error", &[ROLE], "failed the connection ended early, before the reply was complete | nothing"),
        last("error-object", &[HI, r#"{"error":{"message":"boom","type":"server_error"}}"#], FAILED),
        last("error-text", &[HI, r#"{"error":"boom"}"#, DONE], FAILED),
        last(
            "error-beside-choices",
            &[
                HI,
                r#"{"choices":[{"delta":{"content":""},"finish_reason":"error"}],"error":{"code":502,"message":"boom"}}"#,
            ],
            FAILED,
        ),
        last("error-beside-odd-fields", &[HI, r#"{"error":{"message":"boom"},"choices":""}"#], "failed said \"boom\" | error \"Hi\" mended1"),
        raw_last("error-event", after("event: error\ndata: {\"error\":{\"message\":\"boom\"}}"), FAILED),
        raw_last(
            "failed-generation",
            "event: error\ndata: {\"error\":{\"message\":\"boom\",\"type\":\"invalid_request_error\",\"code\":\"tool_use_failed\",\"failed_generation\":\"<x>\",\"status_code\":400}}\n\n".to_owned(),
            "failed said \"boom\" | nothing",
        ),
        last("error-then-done", &[HI, r#"{"error":{"message":"boom","code":500}}"#, STOP, DONE], FAILED),
        last(
            "error-in-list",
            &[HI, r#"[{"error":{"code":429,"message":"boom","status":"RESOURCE_EXHAUSTED"}}]"#],
            FAILED,
        ),
        raw_last(
            "body-is-a-list",
            r#"[{"error":{"code":429,"message":"boom"}}]"#.to_owned(),
            "failed said \"boom\" | nothing",
        ),
        last("flat-error", &[HI, r#"{"object":"error","message":"boom","code":400}"#], FAILED),
        last("flat-error-without-object", &[HI, r#"{"message":"boom","type":"internal_error","code":500}"#], FAILED),
        last("error-as-detail", &[HI, r#"{"detail":"boom"}"#], FAILED),
        last(
            "error-message-is-an-object",
            &[HI, r#"{"object":"error","message":{"detail":"boom"},"code":"1"}"#],
            "failed said \"{\\\"detail\\\":\\\"boom\\\"}\" | error \"Hi\"",
        ),
        last("error-of-another-protocol", &[HI, r#"{"type":"error","error":{"type":"overloaded_error","message":"boom"}}"#], FAILED),
        raw_last("body-is-an-error", r#"{"error":{"message":"boom"}}"#.to_owned(), "failed said \"boom\" | nothing"),
        // PRV-5: an answer with status 200 that is none says what it was.
        raw_last("no-choices", r#"{"choices":[]}"#.to_owned(), "failed said \"{\\\"choices\\\":[]}\" | nothing"),
        raw_last("nothing-known", r#"{"ok":false}"#.to_owned(), "failed said \"{\\\"ok\\\":false}\" | nothing"),
        raw_last("an-empty-object", "{}".to_owned(), "failed said \"{}\" | nothing"),
        raw_last("an-empty-error", r#"{"error":{}}"#.to_owned(), "failed said \"{\\\"error\\\":{}}\" | nothing"),
        raw_last("an-error-that-is-true", r#"{"error":true}"#.to_owned(), "failed said \"{\\\"error\\\":true}\" | nothing"),
        raw_last("an-empty-list", "[]".to_owned(), "failed said \"[]\" | nothing"),
        last("error-after-the-end", &[HI, STOP, r#"{"error":"boom"}"#], FAILED),
    ]
}

fn ends() -> Vec<Fixture> {
    const CUT_CALL: &str =
        piece!(r#"{"index":0,"id":"c1","function":{"name":"code__read_file","arguments":"{\"path\":\"a"}}"#);
    const CUT_AT_LIMIT: &str = "done max_tokens 5+1000 c1:code.read_file{}!(cut at the output limit: the arguments end too early: EOF while parsing a string at line 1 column 10)";
    const FULL: &str = r#"{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":1000}}"#;
    vec![
        all("no-done", &[HI, STOP], TEXT),
        all("only-done-after-text", &[HI, DONE], TEXT),
        last("cut-in-text", &[HI], CUT),
        last(
            "cut-in-a-call",
            &[CUT_CALL],
            "failed the connection ended early, before the reply was complete | error unfinished[\"code.read_file\"]",
        ),
        raw(
            "not-streamed",
            r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}]}"#
                .to_owned(),
            TEXT,
        ),
        raw(
            "not-streamed-without-reason",
            r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":null}]}"#
                .to_owned(),
            TEXT,
        ),
        raw_last(
            "not-streamed-and-broken",
            r#"{"choices":[}"#.to_owned(),
            "failed a piece of the stream is not valid: expected value at line 1 column 13 in {\"choices\":[} | nothing",
        ),
        last("stop-with-calls", &[C1, STOP, DONE], ONE),
        last("calls-without-calls", &[HI, TOOL_STOP, DONE], "done end_turn \"Hi\""),
        last("reason-on-every-event", &[NOISY, NOISY, USAGE, DONE], "done end_turn 50+9 \"aa\""),
        last(
            "late-reason",
            &[C1, r#"{"choices":[{"index":0,"delta":{"content":""},"finish_reason":"tool_calls"}]}"#],
            ONE,
        ),
        last("counts-without-choice", &[HI, STOP, USAGE, DONE], "done end_turn 50+9 \"Hi\""),
        last(
            "azure",
            &[
                r#"{"choices":[],"model":"","prompt_filter_results":[{"prompt_index":0}]}"#,
                HI,
                STOP,
                r#"{"choices":[{"index":0,"finish_reason":null,"content_filter_offsets":{}}]}"#,
                DONE,
            ],
            "done end_turn \"Hi\"",
        ),
        last(
            "counts-on-every-event",
            &[
                r#"{"choices":[{"delta":{"content":"Hi"}}],"usage":{"prompt_tokens":0,"completion_tokens":0}}"#,
                r#"{"choices":[{"delta":{}}],"usage":{"prompt_tokens":50,"completion_tokens":3}}"#,
                STOP,
                r#"{"choices":[],"usage":{"prompt_tokens":50,"completion_tokens":9}}"#,
                r#"{"choices":[],"usage":{"prompt_tokens":0,"completion_tokens":0}}"#,
            ],
            "done end_turn 50+9 \"Hi\"",
        ),
        all("no-counts", &[HI, STOP, DONE], TEXT),
        last("limit-in-a-call-unsaid", &[CUT_CALL, TOOL_STOP, FULL, DONE], CUT_AT_LIMIT),
        last(
            "limit-in-a-call",
            &[CUT_CALL, r#"{"choices":[{"delta":{},"finish_reason":"length"}]}"#, FULL],
            CUT_AT_LIMIT,
        ),
        raw(
            "odd-tail",
            format!("data: {HI}\n\ndata: {STOP}\n\ndata: \"[DONE]\"\n\ndata: {{\"choices\":[],\"usa"),
            TEXT,
        ),
        last(
            "nothing-delivered",
            &[STOP, r#"{"choices":[],"usage":{"prompt_tokens":50,"completion_tokens":40}}"#],
            "failed the server generated 40 tokens and delivered none of them | nothing",
        ),
        last(
            "only-thoughts-delivered",
            &[
                STOP,
                r#"{"choices":[],"usage":{"prompt_tokens":50,"completion_tokens":40,"completion_tokens_details":{"reasoning_tokens":38}}}"#,
            ],
            "done end_turn 50+40",
        ),
        last(
            "full-window",
            &[r#"{"choices":[],"usage":{"prompt_tokens":1000,"completion_tokens":0}}"#, DONE],
            "failed prompt 1000 of 1000 | nothing",
        ),
    ]
}

fn oddities() -> Vec<Fixture> {
    vec![
        all(
            "thoughts-in-the-text",
            &[
                delta!(r#""content":"<th""#),
                delta!(r#""content":"ink>h""#),
                delta!(r#""content":"m</thi""#),
                delta!(r#""content":"nk>\n\nYes""#),
                STOP,
            ],
            &["started m", "think \"h\"", "think \"m\"", "text \"Yes\"", "done end_turn think\"hm\" \"Yes\""],
        ),
        last("thoughts-in-the-middle", &[delta!(r#""content":"a <think>b""#), STOP], "done end_turn \"a <think>b\""),
        last("half-a-tag", &[delta!(r#""content":"<thin""#), STOP], "done end_turn \"<thin\""),
        last("thought-without-end", &[delta!(r#""content":"<think>hm""#), STOP], "done end_turn think\"hm\""),
        last(
            "thoughts-before-a-call",
            &[delta!(r#""content":"<think>hm""#), C1, TOOL_STOP],
            r#"done tool_use think"hm" c1:code.read_file{"path":"a"}"#,
        ),
        last(
            "thoughts-under-two-names",
            &[
                delta!(r#""reasoning_content":"","reasoning":"h""#),
                delta!(r#""reasoning_content":"m","reasoning":"m""#),
                delta!(r#""content":"<think>""#),
                STOP,
            ],
            "done end_turn think\"hm\" \"<think>\"",
        ),
        last(
            "odd-types",
            &[
                r#"{"model":{},"choices":[null,{"index":"0","delta":{"content":["H",{"text":"i"}],"reasoning":{"text":"hm"},"tool_calls":[null,{"index":"0","id":7,"function":{"name":"code__read_file","arguments":"{}"}},{"index":-1,"function":null}]},"finish_reason":{"type":"stop"}}],"usage":{"prompt_tokens":50.0,"completion_tokens":"9"}}"#,
            ],
            "done tool_use 50+9 think\"hm\" \"Hi\" 7:code.read_file{} mended1",
        ),
        all(
            "several-choices",
            &[
                r#"{"choices":[{"index":0,"delta":{"content":"H"}}]}"#,
                r#"{"choices":[{"index":1,"delta":{"content":"Bye"}}]}"#,
                r#"{"choices":[{"index":1,"delta":{},"finish_reason":"stop"}]}"#,
                r#"{"choices":[{"index":1,"delta":{"content":"!"}},{"index":0,"delta":{"content":"i"}}]}"#,
                STOP,
                DONE,
            ],
            &["started m", "text \"H\"", "text \"i\"", "done end_turn \"Hi\""],
        ),
        last(
            "signed-calls",
            &[
                piece!(
                    r#"{"id":"c1","function":{"name":"code__read_file","arguments":"{\"path\":\"a\"}"},"extra_content":{"google":{"thought_signature":"s"}}}"#
                ),
                TOOL_STOP,
            ],
            r#"done tool_use c1:code.read_file{"path":"a"} extra{"google":{"thought_signature":"s"}}@127.0.0.1"#,
        ),
        last(
            "signature-after-the-call",
            &[C1, delta!(r#""extra_content":{"google":{"thought_signature":"s"}}"#), TOOL_STOP],
            r#"done tool_use c1:code.read_file{"path":"a"} extra{"google":{"thought_signature":"s"}}@127.0.0.1"#,
        ),
    ]
}

/// Every fixture, in every cut.
#[test]
fn quirks() {
    check_fixtures(&openai(), &fixtures());
}
