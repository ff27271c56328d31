//! What of a reply is neither text nor a call and must go back to its API as it came: signed thoughts, a server's own tool
//! calls, whatever the protocol grows. It travels in the message's metadata under [`ModelMessage::REASONING`], as an object
//! where other adapters keep a text, so that none of them takes it for its own.

use agent_protocol::{ModelMessage, Object};
use serde_json::{Value, json};

use crate::digest::{digest, short};
use crate::json::push_object;

/// A block, and how many blocks of the message's content stand before it.
pub(crate) type Kept<'a> = (usize, &'a Object);

/// The blocks as a value for metadata. The digest tells later whether they are still what came.
pub(super) fn to_value(provider: &str, model: &str, blocks: &[(usize, Object)]) -> Value {
    let digest = digest_of(blocks.iter().map(|(before, block)| (*before, block)));
    let blocks: Vec<Value> = blocks.iter().map(|(before, block)| json!({"before": before, "block": block})).collect();
    json!({"provider": provider, "model": model, "blocks": blocks, "digest": digest})
}

/// The blocks of a message, if this provider and model made them and nothing of them was changed since (a secret that was
/// taken out of a thought breaks its signature). None: the message is another's, or can no longer be shown as it came.
pub(crate) fn read<'a>(message: &'a ModelMessage, provider: &str, model: &str) -> Option<Vec<Kept<'a>>> {
    let kept = message.metadata.get(ModelMessage::REASONING)?.as_object()?;
    if kept.get("provider")? != provider || kept.get("model")? != model {
        return None;
    }
    let block = |entry: &'a Value| {
        let before = usize::try_from(entry.get("before")?.as_u64()?).ok()?;
        Some((before, entry.get("block")?.as_object()?))
    };
    let blocks: Vec<Kept<'a>> = kept.get("blocks")?.as_array()?.iter().map(block).collect::<Option<_>>()?;
    (kept.get("digest")?.as_str()? == digest_of(blocks.iter().copied())).then_some(blocks)
}

fn digest_of<'a>(blocks: impl Iterator<Item = Kept<'a>>) -> String {
    let mut text = String::new();
    for (before, block) in blocks {
        text.push_str(&before.to_string());
        push_object(&mut text, block);
    }
    short(digest([text.as_bytes()]), 12)
}

#[cfg(test)]
mod tests {
    use agent_protocol::Role;

    use super::*;
    use crate::testing::object;

    fn message(reasoning: Value) -> ModelMessage {
        let mut message = ModelMessage::new(Role::Assistant, vec![]);
        message.metadata.insert(ModelMessage::REASONING.into(), reasoning);
        message
    }

    /// PRV-11: kept blocks come back to who made them, and to nobody else; what was changed does not come back at all.
    #[test]
    fn only_the_maker_reads_them() {
        let blocks =
            [(0, object(json!({"type": "thinking", "thinking": "a key", "signature": "s"}))), (2, Object::new())];
        let value = to_value("anthropic", "m", &blocks);
        let expected: Vec<Kept<'_>> = blocks.iter().map(|(before, block)| (*before, block)).collect();
        let stored: Value = serde_json::from_str(&value.to_string()).unwrap();
        assert_eq!(read(&message(stored), "anthropic", "m"), Some(expected));
        assert_eq!(read(&message(value.clone()), "anthropic", "m2"), None);
        assert_eq!(read(&message(value.clone()), "openai", "m"), None);
        for (pointer, other) in [
            ("/blocks/0/block/thinking", json!("[secret]")),
            ("/blocks/0/before", json!(1)),
            ("/blocks/1/block", json!("x")),
            ("/digest", json!(null)),
            ("/blocks", json!({})),
        ] {
            let mut changed = value.clone();
            *changed.pointer_mut(pointer).unwrap() = other;
            assert_eq!(read(&message(changed), "anthropic", "m"), None, "{pointer}");
        }
        assert_eq!(read(&message(json!("hm")), "anthropic", "m"), None);
        assert_eq!(read(&ModelMessage::new(Role::Assistant, vec![]), "anthropic", "m"), None);
    }
}
