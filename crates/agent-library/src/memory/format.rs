//! What a memory's file looks like when core writes it.

use std::fmt::Write;

use serde_json::Value;

use super::MemoryEntry;
use crate::frontmatter::split;

/// The keys that core writes.
const KEYS: &[&str] = &[
    "id",
    "category",
    "summary",
    "tags",
    "created_at",
    "updated_at",
    "source_session_id",
    "source_node_ids",
    "project",
];

/// The text of a new file.
pub(super) fn new_text(entry: &MemoryEntry) -> String {
    with_others(entry, "")
}

/// The text of a file that is replaced: what a person added to its frontmatter stays, as it was written. `None` if that
/// cannot be told from what core writes.
pub(super) fn updated_text(old: &str, entry: &MemoryEntry) -> Option<String> {
    let block = split(old).frontmatter?;
    let text = with_others(entry, &others(block.text()));
    let fields = |text: &str| Some(split(text).frontmatter?.fields().ok()?.into_iter().filter(is_other).collect());
    let before: Option<Vec<(String, Value)>> = fields(old);
    // Whatever was taken for whose: nothing of a person's is lost.
    let kept = before.is_some() && before == fields(&text);
    let reads_back = MemoryEntry::read(entry.category, entry.path.clone(), text.as_bytes())
        .is_ok_and(|read| MemoryEntry { hash: entry.hash.clone(), ..read } == *entry);
    (kept && reads_back).then_some(text)
}

fn is_other((key, _): &(String, Value)) -> bool {
    !KEYS.contains(&key.as_str())
}

fn with_others(entry: &MemoryEntry, others: &str) -> String {
    let list = |items: &[String]| items.iter().map(|item| quoted(item)).collect::<Vec<_>>().join(", ");
    let project = entry.project.as_deref().map_or_else(|| "null".to_owned(), quoted);
    let values = [
        quoted(entry.id.as_str()),
        quoted(entry.category.as_str()),
        quoted(&entry.summary),
        format!("[{}]", list(&entry.tags)),
        quoted(entry.created_at.as_str()),
        quoted(entry.updated_at.as_str()),
        quoted(&entry.source_session_id),
        format!("[{}]", list(&entry.source_node_ids)),
        project,
    ];
    let mut text = String::from("---\n");
    for (key, value) in KEYS.iter().zip(values) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{key}: {value}");
    }
    text.push_str(others);
    let _ = write!(text, "---\n\n{}\n", entry.body);
    text
}

/// A JSON string that YAML 1.1 and 1.2 read as the same: what some of their readers refuse or take for a line's end is
/// written as a number. Beyond U+FFFF all of them agree, and JSON's numbers for it are not YAML's.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            _ if c.is_control() || is_odd(c) => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            _ => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Separators of lines and paragraphs, byte order marks, what is no character, and what is not seen by who reads the file.
fn is_odd(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fdd0}'..='\u{fdef}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// The lines of a block that belong to none of core's keys.
fn others(block: &str) -> String {
    let mut kept = String::new();
    let mut is_ours = false;
    for line in block.split_inclusive('\n') {
        let starts_entry = !line.trim().is_empty() && !line.starts_with([' ', '\t', '-', ']', '}']);
        if line.starts_with('#') {
            kept.push_str(line);
            continue;
        }
        if starts_entry {
            is_ours = key(line).is_some_and(|key| KEYS.contains(&key));
        }
        if !is_ours {
            kept.push_str(line);
        }
    }
    kept
}

/// The key a line begins with.
fn key(line: &str) -> Option<&str> {
    let (key, value) = line.split_once(':')?;
    let ends = value.is_empty() || value.starts_with([' ', '\t', '\r', '\n']);
    ends.then(|| key.trim_end().trim_matches(['"', '\'']))
}
