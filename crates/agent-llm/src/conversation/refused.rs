//! What is kept of a reply that was refused for its length.

use agent_protocol::{ContentBlock, ModelMessage, Reply};
use serde_json::Value;

/// How much of its text and of its reasoning is kept, in bytes: enough to see what it was.
const KEPT_BYTES: usize = 64 << 10;

/// The beginning of the reply, which says how much was left out.
pub(super) fn beginning(mut reply: Reply) -> Reply {
    let mut room = KEPT_BYTES;
    let mut left_out = 0;
    for block in &mut reply.content {
        if let ContentBlock::Text(block) = block {
            left_out += cut(&mut block.text, &mut room);
        }
    }
    reply.content.retain(|block| block.as_text() != Some(""));
    match reply.metadata.get_mut(ModelMessage::REASONING) {
        Some(Value::String(reasoning)) => left_out += cut(reasoning, &mut KEPT_BYTES.clone()),
        // Blocks that go back as they came are none any more if they are cut.
        Some(_) => drop(reply.metadata.remove(ModelMessage::REASONING)),
        None => {}
    }
    if left_out > 0 {
        reply.content.push(ContentBlock::text(format!(
            "\n[the reply was refused for its length; {left_out} bytes of it are left out here]"
        )));
        reply.metadata.insert("left_out_bytes".to_owned(), left_out.into());
    }
    reply
}

/// Keeps what there is room for, between characters; how many bytes go.
fn cut(text: &mut String, room: &mut usize) -> usize {
    let kept = text.floor_char_boundary(*room);
    let left_out = text.len() - kept;
    if left_out > 0 {
        text.truncate(kept);
        text.shrink_to_fit();
    }
    *room -= kept;
    left_out
}

#[cfg(test)]
mod tests {
    use agent_protocol::{Object, StopKind, StopReason, Usage};

    use super::*;

    fn reply(texts: &[String], reasoning: Option<String>) -> Reply {
        Reply {
            content: texts.iter().map(ContentBlock::text).collect(),
            usage: Usage::default(),
            stop: StopReason::new(StopKind::Error),
            metadata: Object::from_iter(reasoning.map(|text| (ModelMessage::REASONING.to_owned(), text.into()))),
        }
    }

    /// FND-13: of a refused reply its beginning is kept, and how much was left out is said; what is short stays as it is.
    #[test]
    fn only_the_beginning_is_kept() {
        let short = reply(&["a".to_owned(), "b".to_owned()], Some("hm".to_owned()));
        assert_eq!(beginning(short.clone()), short);
        for (texts, reasoning) in [
            (vec!["é".repeat(KEPT_BYTES)], 0),
            (vec!["x".repeat(KEPT_BYTES), "y".repeat(100)], 10),
            (vec!["x".repeat(KEPT_BYTES - 1), "é".repeat(7)], KEPT_BYTES * 3),
            (vec![], KEPT_BYTES * 2),
        ] {
            let all: usize = texts.iter().map(String::len).sum::<usize>() + reasoning;
            let kept = beginning(reply(&texts, Some("r".repeat(reasoning))));
            let (note, said) = kept.content.split_last().unwrap();
            let said: String = said.iter().filter_map(ContentBlock::as_text).collect();
            assert!(texts.concat().starts_with(&said) && said.len() <= KEPT_BYTES);
            let thought = kept.metadata[ModelMessage::REASONING].as_str().unwrap().len();
            let left_out = all - said.len() - thought;
            assert!(left_out > 0 && thought <= KEPT_BYTES);
            assert_eq!(kept.metadata["left_out_bytes"], left_out);
            assert!(note.as_text().unwrap().contains(&format!("{left_out} bytes")));
        }
    }
}
