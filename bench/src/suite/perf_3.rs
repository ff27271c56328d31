//! PERF-3: reading a reply of 20,000 pieces, beside `serde_json` reading the same JSON into types.
//!
//! What is compared does less: it has no frames to find, no calls to put together, no bounds to keep and nothing to tell.

use std::hint::black_box;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::definition::Suite;
use super::series::millis;
use crate::bench::Bench;
use crate::error::BenchError;
use crate::report::{Row, Unit};
use crate::stats::Samples;

pub(super) const SUITE: Suite = Suite {
    name: "perf-3",
    about: "replies of 20,000 pieces read, beside serde_json reading the same lines into types",
    by_name_only: false,
    measure,
};

const PIECES: usize = 20_000;
/// As many bytes as a socket hands over at once.
const PACKET: usize = 16 << 10;
/// Our time over that of `serde_json`: 0.6 of its speed.
const OVER_TYPED: f64 = 1.0 / 0.6;

/// A reply: the lines of JSON, and how they travel.
struct Body {
    name: &'static str,
    /// As `agent_llm::fuzzing::read` numbers the adapters.
    provider: u8,
    lines: Vec<String>,
    wire: Vec<u8>,
    typed: fn(&[String]) -> usize,
}

fn measure(bench: &Bench) -> Result<Vec<Row>, BenchError> {
    let mut rows = Vec::new();
    for body in [openai(), anthropic(), ollama()] {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..bench.runs {
            theirs.push(timed(|| (body.typed)(&body.lines)));
            ours.push(timed(|| agent_llm::fuzzing::read(body.provider, &body.wire, PACKET)));
        }
        let ratios = Samples::new(ours.iter().zip(&theirs).map(|(a, b)| a.as_secs_f64() / b.as_secs_f64()))?;
        let in_millis = |times: Vec<Duration>| Samples::new(times.into_iter().map(millis));
        rows.push(
            Row::new(format!("{}: {PIECES} pieces", body.name), Unit::Millis, in_millis(ours)?)
                .floor(in_millis(theirs)?),
        );
        rows.push(Row::new(format!("{}: over serde_json", body.name), Unit::Ratio, ratios).budget(OVER_TYPED));
    }
    Ok(rows)
}

fn timed<T>(work: impl FnOnce() -> T) -> Duration {
    let began = Instant::now();
    black_box(work());
    began.elapsed()
}

/// Words of different lengths, some of which need escapes.
fn word(at: usize) -> &'static str {
    const WORDS: [&str; 8] = [" the", " answer", ",", " is\n", " \"quoted\"", " naïve", " 42", " considerable"];
    WORDS[at % WORDS.len()]
}

fn read_all<T: DeserializeOwned>(lines: &[String]) -> usize {
    lines.iter().map(|line| serde_json::from_str::<T>(line)).map(black_box).filter(Result::is_ok).count()
}

fn openai() -> Body {
    let delta = |fields: Value, reason: Value| {
        serde_json::json!({
            "id": "chatcmpl-9x8y7z6w5v4u3t2s1r", "object": "chat.completion.chunk", "created": 1_788_256_800,
            "model": "gpt-x-2026-08-01", "system_fingerprint": "fp_44709d6fcb",
            "choices": [{"index": 0, "delta": fields, "logprobs": null, "finish_reason": reason}], "usage": null,
        })
        .to_string()
    };
    let text = |at| delta(serde_json::json!({"content": word(at)}), Value::Null);
    let mut lines: Vec<String> = (0..PIECES).map(text).collect();
    lines.push(delta(serde_json::json!({}), "stop".into()));
    let mut wire: String = lines.iter().map(|line| format!("data: {line}\n\n")).collect();
    wire.push_str("data: [DONE]\n\n");

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only to be read into")]
    struct Chunk {
        id: String,
        model: String,
        choices: Vec<Choice>,
        usage: Option<Value>,
    }
    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only to be read into")]
    struct Choice {
        index: u32,
        delta: Delta,
        finish_reason: Option<String>,
    }
    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only to be read into")]
    struct Delta {
        role: Option<String>,
        content: Option<String>,
        tool_calls: Option<Vec<Value>>,
    }
    Body { name: "openai", provider: 1, lines, wire: wire.into_bytes(), typed: read_all::<Chunk> }
}

fn anthropic() -> Body {
    let text = |at| {
        let delta = serde_json::json!({"type": "text_delta", "text": word(at)});
        serde_json::json!({"type": "content_block_delta", "index": 0, "delta": delta}).to_string()
    };
    let start = r#"{"type":"message_start","message":{"id":"msg_1","model":"claude-x","content":[],"usage":{"input_tokens":12}}}"#;
    let block = r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
    let mut lines = vec![start.to_owned(), block.to_owned()];
    lines.extend((0..PIECES).map(text));
    lines.push(r#"{"type":"content_block_stop","index":0}"#.to_owned());
    lines.push(
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":20000}}"#.to_owned(),
    );
    lines.push(r#"{"type":"message_stop"}"#.to_owned());
    let name = |line: &str| line.split('"').nth(3).unwrap_or_default().to_owned();
    let wire: String = lines.iter().map(|line| format!("event: {}\ndata: {line}\n\n", name(line))).collect();

    // Flat: an enum tagged by `type` would be buffered before it is read.
    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only to be read into")]
    struct Event {
        r#type: String,
        index: Option<u32>,
        delta: Option<Piece>,
        message: Option<Value>,
        content_block: Option<Value>,
        usage: Option<Value>,
    }
    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only to be read into")]
    struct Piece {
        text: Option<String>,
        thinking: Option<String>,
        partial_json: Option<String>,
        stop_reason: Option<String>,
    }
    Body { name: "anthropic", provider: 2, lines, wire: wire.into_bytes(), typed: read_all::<Event> }
}

fn ollama() -> Body {
    let line = |at: usize, done: bool| {
        serde_json::json!({
            "model": "gemma4", "created_at": "2026-09-01T10:00:00.123456789Z",
            "message": {"role": "assistant", "content": if done { "" } else { word(at) }}, "done": done,
        })
        .to_string()
    };
    let lines: Vec<String> = (0..=PIECES).map(|at| line(at, at == PIECES)).collect();
    let wire: String = lines.iter().map(|line| format!("{line}\n")).collect();

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only to be read into")]
    struct Line {
        model: String,
        message: Message,
        done: bool,
        done_reason: Option<String>,
    }
    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only to be read into")]
    struct Message {
        role: String,
        content: String,
        thinking: Option<String>,
        tool_calls: Option<Vec<Value>>,
    }
    Body { name: "ollama", provider: 0, lines, wire: wire.into_bytes(), typed: read_all::<Line> }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both read all of it.
    #[test]
    fn both_read_every_piece() {
        for body in [openai(), anthropic(), ollama()] {
            assert_eq!((body.typed)(&body.lines), body.lines.len(), "{}", body.name);
            // The first event says that the reply has begun.
            assert_eq!(
                agent_llm::fuzzing::read(body.provider, &body.wire, PACKET),
                (PIECES + 1, true),
                "{}",
                body.name
            );
        }
    }
}
