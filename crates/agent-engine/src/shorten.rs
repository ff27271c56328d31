//! Results that are too big for the window, shortened for the model (CTX-6).
//!
//! A result of several parts is shortened part by part: each text keeps its own beginning and end, each list its first
//! entries. Cut as one text, the end of the first part and the beginning of the next would be lost, and that is where
//! commands say what went wrong.

use agent_protocol::{ContentBlock, JsonBlock, Object};
use serde_json::Value;

use crate::notes;
use crate::tokens::TokenCounter;

/// What the note about something left out costs, in tokens.
const NOTE: u64 = 40;
/// How far over its room a shortened result may be: the notes of very small parts.
const SLACK: u64 = 60;
/// Where a result says that something of it is missing.
const TRUNCATED: &str = "truncated";
/// Where a listing says in which artifact its whole is, one entry a line.
const ARTIFACT: &str = "artifact_id";

/// Words about entries of a list that are left out: how many, of how many.
type Note = fn(usize, usize) -> String;

/// The content of a result in about `room` tokens. Small blocks stay whole, the big ones share what is left.
pub(crate) fn content(blocks: &[ContentBlock], room: u64) -> Vec<ContentBlock> {
    if TokenCounter.message(blocks) <= room {
        return blocks.to_vec();
    }
    let size = |block: &ContentBlock| TokenCounter.message(std::slice::from_ref(block));
    let share = fair_share(blocks.iter().map(size), room);
    blocks.iter().map(|one| if size(one) <= share { one.clone() } else { block(one, share, blocks) }).collect()
}

/// One of the blocks of a result, shortened.
fn block(block: &ContentBlock, room: u64, all: &[ContentBlock]) -> ContentBlock {
    if let ContentBlock::Json(JsonBlock { data: Some(data), .. }) = block {
        let is_stored = data.get(ARTIFACT).and_then(Value::as_str).is_some_and(|id| leads_to(all, id));
        let note = if is_stored { notes::stored_entries_left_out } else { notes::entries_left_out };
        let short = ContentBlock::json(value(data, room, note));
        if TokenCounter.message(std::slice::from_ref(&short)) <= room + SLACK {
            return short;
        }
    }
    // Text, or data of so many parts that there is no room for each.
    let text = block.to_model_text().unwrap_or_default();
    ContentBlock::text(text_within(&text, room))
}

/// Whether the result says where to read on in this artifact.
fn leads_to(blocks: &[ContentBlock], id: &str) -> bool {
    let is_it = |block: &ContentBlock| matches!(block, ContentBlock::ArtifactRef(it) if it.artifact_id.as_str() == id);
    blocks.iter().any(is_it)
}

fn value(value: &Value, room: u64, note: Note) -> Value {
    match value {
        Value::String(text) => text_within(text, room).into(),
        Value::Array(items) => list(items, room, note).into(),
        Value::Object(fields) => object(fields, room, note).into(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn object(fields: &Object, room: u64, note: Note) -> Object {
    let has_parts = |field: &Value| field.is_string() || field.is_array() || field.is_object();
    let fixed = TokenCounter.value(&Value::Object(
        fields
            .iter()
            .map(|(key, field)| (key.clone(), if has_parts(field) { Value::Null } else { field.clone() }))
            .collect(),
    ));
    let parts = fields.values().filter(|field| has_parts(field)).map(|field| TokenCounter.value(field));
    let share = fair_share(parts, room.saturating_sub(fixed));
    let mut short: Object = fields
        .iter()
        .map(|(key, field)| {
            let fits = !has_parts(field) || TokenCounter.value(field) <= share;
            (key.clone(), if fits { field.clone() } else { value(field, share, note) })
        })
        .collect();
    if short != *fields
        && let Some(truncated) = short.get_mut(TRUNCATED).filter(|flag| flag.is_boolean())
    {
        *truncated = true.into();
    }
    short
}

fn list(items: &[Value], room: u64, note: Note) -> Vec<Value> {
    let mut left = room.saturating_sub(NOTE);
    let fits = |item: &&Value| match left.checked_sub(TokenCounter.value(item)) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    };
    let mut kept: Vec<_> = items.iter().take_while(fits).cloned().collect();
    if kept.is_empty()
        && let Some(first) = items.first()
    {
        kept.push(value(first, room.saturating_sub(NOTE), note));
    }
    if kept.len() < items.len() {
        kept.push(note(items.len() - kept.len(), items.len()).into());
    }
    kept
}

fn text_within(text: &str, room: u64) -> String {
    head_and_tail(text, usize::try_from(room.saturating_sub(NOTE)).unwrap_or(usize::MAX))
}

/// The largest share such that everybody getting at most this share stays within the limit.
pub(crate) fn fair_share(sizes: impl Iterator<Item = u64>, limit: u64) -> u64 {
    let mut sizes: Vec<_> = sizes.collect();
    sizes.sort_unstable();
    let mut left = limit;
    for (taken, size) in sizes.iter().enumerate() {
        let each = left / (sizes.len() - taken) as u64;
        if *size > each {
            return each;
        }
        left -= size;
    }
    u64::MAX
}

/// Two thirds of the room for the head, one third for the tail, and a note between them.
pub(crate) fn head_and_tail(text: &str, tokens: usize) -> String {
    cut_middle(text, tokens, notes::result_shortened)
}

/// The same with a note of one's own, which is told how many bytes are left out of how many.
pub(crate) fn cut_middle(text: &str, tokens: usize, note: fn(usize, usize) -> String) -> String {
    let fits = |part: &str| TokenCounter.text(part) as usize;
    let most = tokens.saturating_mul(4);
    let (mut head, mut tail) = ((most / 3 * 2).min(text.len()), (most / 3).min(text.len()));
    loop {
        let from_start = &text[..text.floor_char_boundary(head)];
        let from_end = &text[text.ceil_char_boundary(text.len() - tail)..];
        if from_start.len() + from_end.len() >= text.len() && fits(text) <= tokens {
            return text.to_owned();
        }
        if fits(from_start) + fits(from_end) <= tokens || head + tail == 0 {
            let left_out = text.len().saturating_sub(from_start.len() + from_end.len());
            return format!("{from_start}\n{}\n{from_end}", note(left_out, text.len()));
        }
        // Wide characters cost more than a quarter token a byte: try again with less.
        (head, tail) = (head * 3 / 4, tail * 3 / 4);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn shares_are_fair() {
        assert_eq!(fair_share([10, 20, 30].into_iter(), 100), u64::MAX);
        assert_eq!(fair_share([10, 100, 100].into_iter(), 110), 50);
        assert_eq!(fair_share([100, 100].into_iter(), 0), 0);
        assert_eq!(fair_share(std::iter::empty(), 10), u64::MAX);
    }

    /// Long results keep head and tail, say what is missing, and never cut a character.
    #[test]
    fn long_text_keeps_head_and_tail() {
        for text in ["ab".repeat(5000), "你好".repeat(3000), "🛡é".repeat(3000)] {
            for room in [0, 1, 10, 100, 1000] {
                let cut = head_and_tail(&text, room);
                assert!(TokenCounter.text(&cut) <= room as u64 + 60, "{room}");
                assert!(cut.contains("left out"), "{room}");
            }
        }
        assert_eq!(head_and_tail("short", 100), "short");
    }

    fn lines(first: &str, last: &str) -> String {
        let between: String = (0..200).map(|n| format!("line {n} of what is said between\n")).collect();
        format!("{first}\n{between}{last}\n")
    }

    fn data(blocks: &[ContentBlock]) -> &Value {
        match blocks.first() {
            Some(ContentBlock::Json(block)) => block.data.as_ref().unwrap(),
            other => panic!("no data: {other:?}"),
        }
    }

    /// FND-21: of each output of a command both ends are left, and the result says that something is missing.
    #[test]
    fn both_outputs_keep_their_ends() {
        let result = json!({
            "exit_code": 101, "stdout": lines("running 200 tests", "test result: FAILED"),
            "stderr": lines("error[E0425]: cannot find value", "could not compile"), "truncated": false,
        });
        let blocks = [ContentBlock::json(result), ContentBlock::text("[artifact art_1: read on …]")];
        for room in [400, 800, 1600, 3000] {
            let short = content(&blocks, room);
            let ran = data(&short);
            for (stream, first, last) in [
                ("stdout", "running 200 tests", "test result: FAILED\n"),
                ("stderr", "error[E0425]", "could not compile\n"),
            ] {
                let text = ran[stream].as_str().unwrap();
                assert!(text.starts_with(first) && text.ends_with(last) && text.contains("left out"), "{room}: {text}");
            }
            assert_eq!((&ran["exit_code"], &ran["truncated"]), (&json!(101), &json!(true)));
            assert_eq!(short[1], blocks[1]);
            assert!(TokenCounter.message(&short) <= room + SLACK, "{room}");
        }
        assert_eq!(content(&blocks, 100_000), blocks);
    }

    /// CTX-6: of a list the first entries are left, whole, and the others are counted.
    #[test]
    fn lists_keep_their_first_entries() {
        let entry = |n: usize| json!({"path": format!("src/file{n}.rs"), "line": n, "text": "let found = here();"});
        let entries: Vec<_> = (0..100).map(entry).collect();
        let short = content(&[ContentBlock::json(json!({"matches": entries, "truncated": false}))], 400);
        let matches = data(&short)["matches"].as_array().unwrap();
        let kept = matches.len() - 1;
        assert!(kept > 5 && matches[..kept].iter().enumerate().all(|(n, found)| *found == entry(n)), "{matches:?}");
        assert!(matches[kept].as_str().unwrap().contains(&format!("{} of 100 entries", 100 - kept)), "{matches:?}");
        assert_eq!(data(&short)["truncated"], true);
    }

    /// ART-2: where the whole is stored, the words behind the entries that are left tell how to see the next one, whatever was
    /// said before more was left out.
    #[test]
    fn what_leads_on_is_true_for_what_is_left() {
        const FIRST_LINE: usize = 4;
        let entry = |n: usize| json!({"path": format!("file{n:04}.txt"), "kind": "file", "size": 0});
        for (shown, room) in [(100, 1500), (609, 300), (609, 9000), (609, 5000), (20, 200)] {
            let entries: Vec<_> = (0..shown).map(entry).collect();
            let listed = json!({"artifact_id": "art_1", "entries": entries, "truncated": true});
            let next = FIRST_LINE + shown;
            let artifact = ContentBlock::ArtifactRef(agent_protocol::ArtifactRef {
                artifact_id: agent_protocol::ArtifactId::parse("art_1").unwrap(),
                summary: Some(format!("{shown} are shown; the next: {{\"start_line\":{next}}}")),
                mime_type: None,
            });
            let short = content(&[ContentBlock::json(listed), artifact], room);
            let entries = data(&short)["entries"].as_array().unwrap();
            let kept = entries.iter().filter(|entry| entry.is_object()).count();
            if kept == shown {
                continue;
            }
            let left_out = shown - kept;
            let note = entries.last().unwrap().as_str().unwrap();
            assert!(note.contains(&format!("{left_out} lines before the start_line")), "{note}");
            assert_eq!(next - left_out, FIRST_LINE + kept, "{note}");
        }
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<u32>().prop_map(Value::from),
            "[a-z 你\n]{0,40}".prop_map(Value::from),
            (1usize..400).prop_map(|n| "word ".repeat(n).into()),
        ];
        leaf.prop_recursive(4, 200, 12, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..12).prop_map(Value::from),
                prop::collection::btree_map("[a-z]{1,6}", inner, 0..12)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

        /// FND-21, CTX-6: whatever a result is made of, shortened it fits its room but for the notes, and what fits is left as
        /// it is.
        #[test]
        fn results_fit(results in prop::collection::vec(values(), 1..4), room in 0u64..2000) {
            let blocks: Vec<_> = results.into_iter().map(ContentBlock::json).collect();
            let short = content(&blocks, room);
            prop_assert!(TokenCounter.message(&short) <= room + SLACK * blocks.len() as u64 + 10, "{:?}", short);
            if TokenCounter.message(&blocks) <= room {
                prop_assert_eq!(short, blocks);
            }
        }
    }
}
