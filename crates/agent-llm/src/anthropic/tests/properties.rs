//! Replies of any blocks, streamed in any pieces, whose blocks overlap in any way, in any cut of the bytes.

use std::collections::VecDeque;

use agent_protocol::{ContentBlock, ModelMessage};
use proptest::prelude::*;
use proptest::sample::Index;

use super::*;
use crate::testing::{properties, reply_to, request};

#[derive(Debug, Clone)]
enum Said {
    Text(String),
    Thought(String, String),
    Call(Value),
    Foreign(Value),
}

fn said() -> impl Strategy<Value = Said> {
    let text = || "[^\u{0}]{1,10}";
    prop_oneof![
        text().prop_map(Said::Text),
        ("[^\u{0}]{0,10}", "[A-Za-z0-9+/=]{1,8}").prop_map(|(thought, signature)| Said::Thought(thought, signature)),
        text().prop_map(|path| Said::Call(json!({"path": path, "more": [{}, null]}))),
        text().prop_map(|text| Said::Foreign(json!({"type": "some_block", "data": text}))),
    ]
}

/// Up to `pieces` pieces of a text, none within a character.
fn split(text: &str, pieces: usize) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    chars.chunks(chars.len().div_ceil(pieces).max(1)).map(|piece| piece.iter().collect()).collect()
}

/// A block's events after its first one.
fn rest(at: usize, said: &Said, pieces: usize) -> VecDeque<String> {
    let deltas = |kind: &str, field: &str, text: &str| -> Vec<String> {
        split(text, pieces)
            .into_iter()
            .map(|piece| delta(at, &json!({"type": kind, field: piece}).to_string()))
            .collect()
    };
    let mut events = match said {
        Said::Text(text) => deltas("text_delta", "text", text),
        Said::Thought(thought, signature) => {
            let mut events = deltas("thinking_delta", "thinking", thought);
            events.push(delta(at, &json!({"type": "signature_delta", "signature": signature}).to_string()));
            events
        }
        Said::Call(arguments) => deltas("input_json_delta", "partial_json", &arguments.to_string()),
        Said::Foreign(_) => Vec::new(),
    };
    events.push(end(at));
    events.into()
}

fn first(at: usize, said: &Said) -> String {
    match said {
        Said::Text(_) => start(at, r#"{"type":"text","text":""}"#),
        Said::Thought(..) => start(at, r#"{"type":"thinking","thinking":"","signature":""}"#),
        Said::Call(_) => tool_use(at, &format!("c{at}"), "code__read_file"),
        Said::Foreign(block) => start(at, &block.to_string()),
    }
}

/// All events, the blocks' beginnings in their order, everything else as `order` has it.
fn stream(blocks: &[Said], pieces: usize, order: &[Index]) -> Vec<String> {
    let mut unbegun: VecDeque<usize> = (0..blocks.len()).collect();
    let mut open: Vec<VecDeque<String>> = Vec::new();
    let mut events = vec![START.to_owned()];
    let mut order = order.iter().cycle();
    while !(unbegun.is_empty() && open.is_empty()) {
        let choice = order.next().map_or(0, |place| place.index(open.len() + 1));
        match unbegun.front() {
            Some(&at) if choice == open.len() => {
                unbegun.pop_front();
                events.push(first(at, &blocks[at]));
                open.push(rest(at, &blocks[at], pieces));
            }
            _ if open.is_empty() => {}
            _ => {
                let at = choice.min(open.len() - 1);
                events.extend(open[at].pop_front());
                open.retain(|rest| !rest.is_empty());
            }
        }
    }
    events.extend([message_delta("end_turn"), STOP.to_owned()]);
    events
}

/// What should come of the blocks: content and kept blocks, with neighbouring texts joined.
fn expected(blocks: &[Said]) -> (Vec<String>, Vec<Value>) {
    let (mut content, mut kept): (Vec<String>, Vec<Value>) = (Vec::new(), Vec::new());
    for (at, said) in blocks.iter().enumerate() {
        match said {
            Said::Text(text) => content.push(text.clone()),
            Said::Call(arguments) => content.push(format!("c{at} {arguments}")),
            Said::Thought(thought, signature) => {
                kept.push(json!({"type": "thinking", "thinking": thought, "signature": signature}));
            }
            Said::Foreign(block) => kept.push(block.clone()),
        }
    }
    (content, kept)
}

proptest! {
    #![proptest_config(properties())]

    /// TST-4, PRV-6, PRV-11: text, calls and thoughts come back whole and in their order; the cut into pieces, blocks that
    /// overlap and the cut into chunks never show.
    #[test]
    fn replies_come_back_whole(
        blocks in prop::collection::vec(said(), 0..6),
        pieces in 1_usize..5,
        order in prop::collection::vec(any::<Index>(), 1..40),
        size in 1_usize..200,
    ) {
        let events = stream(&blocks, pieces, &order);
        let bytes = super::events(&events.iter().map(String::as_str).collect::<Vec<_>>());
        prop_assert_eq!(decode(&anthropic(), bytes.chunks(size)), decode(&anthropic(), [&*bytes]));
        let reply = reply_to(&anthropic(), request(), &bytes);
        let content: Vec<String> = reply
            .content
            .iter()
            .map(|block| match block {
                ContentBlock::ToolCall(call) => format!("{} {}", call.tool_call_id, Value::Object(call.arguments.clone())),
                other => other.as_text().unwrap().to_owned(),
            })
            .collect();
        let kept: Vec<Value> = reply
            .metadata
            .get(ModelMessage::REASONING)
            .and_then(|kept| kept["blocks"].as_array())
            .map_or_else(Vec::new, |blocks| blocks.iter().map(|entry| entry["block"].clone()).collect());
        let (texts, blocks) = expected(&blocks);
        // Where one text follows the other's end, they are one.
        prop_assert_eq!(content.concat(), texts.concat());
        prop_assert_eq!(kept, blocks);
    }

    /// TST-4: events in any order and number, broken ones among them, give the same in any cut, and never a panic; a reply is
    /// complete only after the end mark.
    #[test]
    fn any_events_in_any_cut(picks in prop::collection::vec((any::<Index>(), 0_usize..4), 0..24), size in 1_usize..60) {
        let mut bytes = Vec::new();
        for (pick, at) in &picks {
            let all = [
                START.to_owned(),
                PING.to_owned(),
                start(*at, r#"{"type":"text","text":"a"}"#),
                start(*at, r#"{"type":"thinking","thinking":"","signature":""}"#),
                start(*at, r#"{"type":"x"}"#),
                start(*at, "7"),
                tool_use(*at, "c1", "code__read_file"),
                input(*at, "{\"path\":"),
                input(*at, "\"a\"}"),
                delta(*at, r#"{"type":"text_delta","text":"b"}"#),
                delta(*at, r#"{"type":"thinking_delta","thinking":"c"}"#),
                delta(*at, r#"{"type":"signature_delta","signature":"s"}"#),
                end(*at),
                DONE.to_owned(),
                STOP.to_owned(),
                r#"{"type":"error","error":{"message":"boom"}}"#.to_owned(),
                r#"{"type":"content_block_delta","delta":{"text":null}}"#.to_owned(),
                "[DONE]".to_owned(),
                "{".to_owned(),
            ];
            bytes.extend(super::events(&[all[pick.index(all.len())].as_str()]));
        }
        let whole = decode(&anthropic(), [&*bytes]);
        prop_assert_eq!(&decode(&anthropic(), bytes.chunks(size)), &whole);
        let complete = whole.last().is_some_and(|last| last.starts_with("done"));
        prop_assert!(!complete || String::from_utf8_lossy(&bytes).contains("message_stop"));
    }
}
