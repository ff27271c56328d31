//! Bodies as servers send them, and what becomes of them. Each is replayed whole, byte by byte and in random cuts.

use serde_json::{Value, json};

use crate::testing::{check_body, check_last, decode, object, replay};

use super::*;

mod blocks;
mod ends;
mod histories;
mod properties;
pub(crate) mod quirks;
mod requests;

fn with_options(options: Value) -> Anthropic {
    let mut settings = ProviderSettings::new("http://127.0.0.1:1");
    settings.context_window = 1000;
    settings.provider_options = object(options);
    Anthropic::new(&settings, "").unwrap()
}

fn anthropic() -> Anthropic {
    with_options(json!({}))
}

/// Named events, each with its type in the data.
fn events(data: &[&str]) -> Vec<u8> {
    let event = |data: &&str| match serde_json::from_str::<Value>(data)
        .ok()
        .and_then(|v| v["type"].as_str().map(str::to_owned))
    {
        Some(name) => format!("event: {name}\ndata: {data}\n\n"),
        None => format!("data: {data}\n\n"),
    };
    data.iter().flat_map(|data| event(data).into_bytes()).collect()
}

#[track_caller]
fn check(data: &[&str], expected: &[&str]) {
    check_body(&anthropic(), &events(data), expected);
}

/// The end of the transcript only.
#[track_caller]
fn check_end(data: &[&str], expected: &str) {
    check_last(&anthropic(), &events(data), expected);
}

const START: &str = r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":12,"cache_creation_input_tokens":0,"cache_read_input_tokens":30,"output_tokens":1}}}"#;
const PING: &str = r#"{"type":"ping"}"#;
const TEXT: &str = r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
const HI: &str = r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}"#;
const END: &str = r#"{"type":"content_block_stop","index":0}"#;
const DONE: &str =
    r#"{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":9}}"#;
const STOP: &str = r#"{"type":"message_stop"}"#;

const TRUNCATED: &str = "failed the connection ended early, before the reply was complete";

fn start(index: usize, block: &str) -> String {
    format!(r#"{{"type":"content_block_start","index":{index},"content_block":{block}}}"#)
}

fn delta(index: usize, delta: &str) -> String {
    format!(r#"{{"type":"content_block_delta","index":{index},"delta":{delta}}}"#)
}

fn end(index: usize) -> String {
    format!(r#"{{"type":"content_block_stop","index":{index}}}"#)
}

/// A piece of a call's input.
fn input(index: usize, piece: &str) -> String {
    delta(index, &json!({"type": "input_json_delta", "partial_json": piece}).to_string())
}

fn tool_use(index: usize, id: &str, name: &str) -> String {
    start(index, &json!({"type": "tool_use", "id": id, "name": name, "input": {}}).to_string())
}

fn message_delta(reason: &str) -> String {
    format!(
        r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}","stop_sequence":null}},"usage":{{"output_tokens":9}}}}"#
    )
}

/// All events between the first and the last two, as one borrowed list.
fn around<'a>(middle: &'a [String], done: &'a str) -> Vec<&'a str> {
    [START].into_iter().chain(middle.iter().map(String::as_str)).chain([done, STOP]).collect()
}

/// Prompt tokens are the uncached, the read and the written ones together.
#[test]
fn canonical_text() {
    check(&[START, PING, TEXT, HI, END, DONE, STOP], &["started claude-x", "text \"Hi\"", "done end_turn 42+9 \"Hi\""]);
}

/// PRV-11: a thought is kept with its signature, apart from the text. STRM-01: names come back canonical. PRV-5: so do ids.
#[test]
fn canonical_thought_and_parallel_tools() {
    let middle = [
        start(0, r#"{"type":"thinking","thinking":"","signature":""}"#),
        delta(0, r#"{"type":"thinking_delta","thinking":"H"}"#),
        delta(0, r#"{"type":"thinking_delta","thinking":"m"}"#),
        delta(0, r#"{"type":"signature_delta","signature":"EqQB/+="}"#),
        end(0),
        start(1, r#"{"type":"text","text":""}"#),
        delta(1, r#"{"type":"text_delta","text":"I look."}"#),
        end(1),
        tool_use(2, "toolu_1", "code__read_file"),
        input(2, ""),
        input(2, "{\"path\""),
        input(2, ": \"a\"}"),
        end(2),
        tool_use(3, "toolu_2", "internal__load_skill"),
        end(3),
    ];
    check(
        &around(&middle, &message_delta("tool_use")),
        &[
            "started claude-x",
            "think \"H\"",
            "think \"m\"",
            "text \"I look.\"",
            "call 0 code.read_file ",
            "more 0 {\"path\"",
            "more 0 : \"a\"}",
            "call 1 internal.load_skill ",
            r#"done tool_use 42+9 kept0{"type":"thinking","thinking":"Hm","signature":"EqQB/+="} "I look." toolu_1:code.read_file{"path":"a"} toolu_2:internal.load_skill{}"#,
        ],
    );
}

/// PRV-11: a thought that is not shown has a signature all the same; a redacted one comes whole; both keep their place between
/// text and calls. The last signature counts.
#[test]
fn thoughts_of_all_kinds() {
    let middle = [
        start(0, r#"{"type":"thinking","thinking":"","signature":""}"#),
        delta(0, r#"{"type":"signature_delta","signature":"old"}"#),
        delta(0, r#"{"type":"signature_delta","signature":"s0"}"#),
        end(0),
        start(1, r#"{"type":"redacted_thinking","data":"Zm9v"}"#),
        end(1),
        start(2, r#"{"type":"text","text":"A"}"#),
        end(2),
        start(3, r#"{"type":"thinking","thinking":"a","signature":"s3"}"#),
        end(3),
        start(4, r#"{"type":"text","text":"B"}"#),
        end(4),
    ];
    check(
        &around(&middle, DONE),
        &[
            "started claude-x",
            "text \"A\"",
            "think \"a\"",
            "text \"B\"",
            r#"done end_turn 42+9 kept0{"type":"thinking","thinking":"","signature":"s0"} kept0{"type":"redacted_thinking","data":"Zm9v"} kept1{"type":"thinking","thinking":"a","signature":"s3"} "A" "B""#,
        ],
    );
}

/// Blocks of kinds that this client does not know are kept as they came, with what is streamed into them; unknown events, deltas
/// and fields say nothing.
#[test]
fn what_the_protocol_grew() {
    let middle = [
        r#"{"type":"brand_new_event","x":[1]}"#.to_owned(),
        start(0, r#"{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}"#),
        input(0, "{\"query\":"),
        input(0, "\"x\"}"),
        end(0),
        start(
            1,
            r#"{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"encrypted_content":"q","n":1.0}]}"#,
        ),
        end(1),
        start(2, r#"{"type":"text","text":"","citations":[],"brand":"new"}"#),
        delta(2, r#"{"type":"brand_new_delta","payload":{"a":1}}"#),
        delta(2, r#"{"type":"citations_delta","citation":{"url":"u"}}"#),
        delta(2, r#"{"type":"text_delta","text":"Hi"}"#),
        PING.to_owned(),
        end(2),
        start(3, r#"{"type":"brand_new_block","secret":"z"}"#),
        end(3),
    ];
    check(
        &around(&middle, DONE),
        &[
            "started claude-x",
            "text \"Hi\"",
            r#"done end_turn 42+9 kept0{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"x"}} kept0{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"encrypted_content":"q","n":1.0}]} kept1{"type":"brand_new_block","secret":"z"} "Hi""#,
        ],
    );
    // A ping may come before everything, and a block may be told of whole.
    check(
        &[PING, START, &start(0, r#"{"type":"text","text":"Hi"}"#), END, DONE, STOP],
        &["started claude-x", "text \"Hi\"", "done end_turn 42+9 \"Hi\""],
    );
}

/// STRM-22: CRLF, no blank, comments, a byte order mark, no names, several events without a blank line, no last one.
#[test]
fn framing_of_all_kinds() {
    let expected = &["started claude-x", "text \"Hi\"", "done end_turn 42+9 \"Hi\""];
    let all = [START, TEXT, HI, END, DONE, STOP];
    let crlf: String = all.iter().map(|data| format!("event:x\r\ndata:{data}\r\n\r\n: keep-alive\r\n\r\n")).collect();
    check_body(&anthropic(), format!("\u{feff}{crlf}").as_bytes(), expected);
    check_body(&anthropic(), crlf.replace("\r\n", "\r").as_bytes(), expected);
    let bare: String = all.iter().map(|data| format!("data: {data}\n\n")).collect();
    check_body(&anthropic(), bare.trim_end().as_bytes(), expected);
    let glued: String = all.iter().map(|data| format!("data: {data}\n")).collect();
    check_body(&anthropic(), glued.as_bytes(), expected);
    // The name tells where a relay leaves out the type.
    let untyped: String = all
        .iter()
        .map(|data| {
            let (kind, rest) = data.split_once(r#"{"type":""#).unwrap().1.split_once('"').unwrap();
            format!("event: {kind}\ndata: {{{}\n\n", rest.trim_start_matches(','))
        })
        .collect();
    check_body(&anthropic(), untyped.as_bytes(), expected);
}

/// A server that does not stream although it was asked to.
#[test]
fn one_object_instead_of_a_stream() {
    let body = br#"
    {"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[
     {"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"Hi"},
     {"type":"tool_use","id":"c1","name":"code__read_file","input":{"path":"a"}}],
     "stop_reason":"tool_use","usage":{"input_tokens":5,"output_tokens":2}}"#;
    check_body(
        &anthropic(),
        body,
        &[
            "started claude-x",
            "think \"hm\"",
            "text \"Hi\"",
            "call 0 code.read_file ",
            "more 0 {\"path\":\"a\"}",
            r#"done tool_use 5+2 kept0{"type":"thinking","thinking":"hm","signature":"s"} "Hi" c1:code.read_file{"path":"a"}"#,
        ],
    );
    check_body(&anthropic(), &body[..90], &[&format!("{TRUNCATED} | nothing")]);
}

/// What is no JSON is told with its beginning; at the end of the stream it is a cut.
#[test]
fn broken_pieces() {
    check(
        &[START, TEXT, HI, "{\"type\":}", STOP],
        &[
            "started claude-x",
            "text \"Hi\"",
            "failed a piece of the stream is not valid: expected value at line 1 column 9 in {\"type\":} | error 42+1 \"Hi\"",
        ],
    );
}
