//! Any body of any provider becomes the same outcome however it is cut, within its bounds.
#![no_main]

use libfuzzer_sys::fuzz_target;

/// Pieces of bodies, so that the fuzzer does not have to spell the protocols by itself.
const PIECES: &[&str] = &[
    "data: ", "event: message_start\n", "event: content_block_start\n", "event: content_block_delta\n",
    "event: content_block_stop\n", "event: message_delta\n", "event: message_stop\n", "\n\n", "\n", "data: [DONE]\n\n",
    r#"{"choices":[{"index":0,"delta":{"content":"hi"}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"content":"<think>a"}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"f","arguments":"{\"a\":"}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
    r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
    r#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}"#,
    r#"{"error":{"message":"overloaded","type":"overloaded_error","code":503}}"#,
    r#"{"message":{"role":"assistant","content":"hi"},"done":false}"#,
    r#"{"message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":{"a":1}}}]},"done":false}"#,
    r#"{"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":3,"eval_count":2}"#,
    r#"{"type":"message_start","message":{"id":"m","role":"assistant","content":[],"usage":{"input_tokens":3}}}"#,
    r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
    r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t1","name":"f","input":{}}}"#,
    r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"a"}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"s"}}"#,
    r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a\":1}"}}"#,
    r#"{"type":"content_block_stop","index":0}"#,
    r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":2}}"#,
    r#"{"type":"message_stop"}"#,
];

#[derive(Debug, arbitrary::Arbitrary)]
struct Case<'a> {
    provider: u8,
    cuts: &'a [u8],
    pieces: Vec<Piece<'a>>,
}

#[derive(Debug, arbitrary::Arbitrary)]
enum Piece<'a> {
    Known(u8),
    Event(u8),
    Raw(&'a [u8]),
}

fuzz_target!(|case: Case<'_>| {
    let mut body = Vec::new();
    for piece in case.pieces {
        match piece {
            Piece::Known(at) => body.extend_from_slice(known(at)),
            Piece::Event(at) => {
                body.extend_from_slice(b"data: ");
                body.extend_from_slice(known(at));
                body.extend_from_slice(b"\n\n");
            }
            Piece::Raw(bytes) => body.extend_from_slice(bytes),
        }
    }
    agent_llm::fuzzing::reply(case.provider, &body, case.cuts);
});

fn known(at: u8) -> &'static [u8] {
    PIECES[usize::from(at) % PIECES.len()].as_bytes()
}
