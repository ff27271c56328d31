//! Texts as system blocks, and what names their bytes (STO-13).

use agent_engine::TokenCounter;
use agent_library::AssetId;
use agent_protocol::{Object, PromptBlock, SystemPrompt, ToolList};
use agent_store::{ContentHash, Write};
use serde_json::json;

/// Packaged texts as system blocks.
#[must_use]
pub fn blocks(ids: impl IntoIterator<Item = AssetId>) -> SystemPrompt {
    let blocks: Vec<_> = ids.into_iter().map(packaged).collect();
    blocks.into()
}

pub(crate) fn packaged(id: AssetId) -> PromptBlock {
    let asset = id.load();
    block(asset.id.as_str(), asset.source(), asset.text)
}

pub(crate) fn block(id: &str, source: String, text: &str) -> PromptBlock {
    PromptBlock {
        block_id: id.to_owned(),
        source,
        content: text.to_owned(),
        priority: 0,
        dynamic: false,
        token_count: TokenCounter.text(text),
        metadata: Object::new(),
    }
}

/// The hashes of a system part and its tools, and the bytes behind them.
pub(crate) fn fingerprint(system: &SystemPrompt, tools: &ToolList) -> (Object, Vec<Write>) {
    let mut blobs = Vec::new();
    let mut keep = |bytes: &[u8]| {
        let hash = ContentHash::of(bytes);
        blobs.push(Write::Blob { hash: hash.clone(), bytes: bytes.into() });
        hash.as_str().to_owned()
    };
    let blocks: Vec<_> = system
        .blocks
        .iter()
        .map(|block| {
            let mut named = json!({ "block_id": block.block_id, "source": block.source, "tokens": block.token_count,
                    "hash": keep(block.content.as_bytes()) });
            if block.dynamic {
                named["dynamic"] = true.into();
            }
            if !block.metadata.is_empty() {
                named["facts"] = block.metadata.clone().into();
            }
            named
        })
        .collect();
    // Definitions are plain JSON; that they cannot be written down is impossible.
    let list = serde_json::to_vec(tools).unwrap_or_default();
    let tools = json!({ "count": tools.tools.len(), "hash": keep(&list) });
    (Object::from_iter([("system_blocks".to_owned(), blocks.into()), ("tools".to_owned(), tools)]), blobs)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// STO-13: every block and the tool list have a hash, and their bytes are kept under it.
    #[test]
    fn everything_fixed_has_a_hash() {
        let prompt = blocks([AssetId::SystemCore, AssetId::SystemTodo]);
        let (fingerprint, blobs) = fingerprint(&prompt, &ToolList::default());
        assert_eq!(blobs.len(), prompt.blocks.len() + 1);
        let named = fingerprint["system_blocks"].as_array().unwrap();
        for (block, blob) in named.iter().zip(&blobs) {
            let Write::Blob { hash, bytes } = blob else { panic!() };
            assert_eq!(block["hash"], hash.as_str());
            assert_eq!(ContentHash::of(bytes), *hash);
        }
    }
}
