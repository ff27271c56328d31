//! `MEMORY.md`: what there is, one line a memory, between two markers. What stands outside of them is a person's.

use std::ffi::OsStr;

use super::{MemoryEntry, MemoryError, draft::Put, folder::Folder};
use crate::shown;

/// The file.
pub(super) const NAME: &str = "MEMORY.md";

/// What the line before the generated part begins with; the rest of it is for people and may change.
const BEGIN: &str = "<!-- memories: begin";

const BEGIN_LINE: &str = "<!-- memories: begin. Written anew from the files in user/, feedback/ and reference/: to change a \
                          memory, edit its file. -->";

/// The line behind it.
const END_LINE: &str = "<!-- memories: end -->";

/// The generated part is cut at its end when it gets longer. Bytes.
const MOST_BYTES: usize = 64 * 1024;

/// A catalog with more is not touched. Bytes.
const MOST_FILE_BYTES: u64 = 1024 * 1024;

/// How often it is read again because somebody changed it meanwhile.
const TRIES: usize = 8;

/// Fails if the catalog could not be written; said before any memory is.
pub(super) fn check(memory: &Folder) -> Result<(), MemoryError> {
    memory.read(OsStr::new(NAME), MOST_FILE_BYTES).map(drop)
}

/// Brings it up to date with the memories there are, newest first. Returns whether it was not.
pub(super) fn update(memory: &Folder, entries: &[MemoryEntry]) -> Result<bool, MemoryError> {
    let name = OsStr::new(NAME);
    let generated = generated(entries);
    for _ in 0..TRIES {
        let before = memory.read(name, MOST_FILE_BYTES)?;
        if before.is_none() && entries.is_empty() {
            return Ok(false);
        }
        let after = merged(before.as_deref(), &generated);
        if before.as_deref() == Some(&after) {
            return Ok(false);
        }
        if memory.put(name, before.as_deref(), &after)? == Put::Done {
            return Ok(true);
        }
    }
    Err(MemoryError::Restless { path: memory.path().join(NAME) })
}

/// The part between the markers, with them.
fn generated(entries: &[MemoryEntry]) -> String {
    let mut text = format!("{BEGIN_LINE}\n");
    let mut shown = 0;
    for entry in entries {
        let line = line(entry);
        if text.len() + line.len() > MOST_BYTES {
            break;
        }
        text.push_str(&line);
        shown += 1;
    }
    if entries.is_empty() {
        text.push_str("- nothing yet\n");
    }
    if shown < entries.len() {
        text.push_str(&format!("- … {} older memories are left out here\n", entries.len() - shown));
    }
    text + END_LINE
}

fn line(entry: &MemoryEntry) -> String {
    let MemoryEntry { id, category, path, .. } = entry;
    let mut line = format!("- [{id}]({path}) {category}: {}", shown::line(&entry.summary, 160));
    if !entry.tags.is_empty() {
        line += &format!("; tags: {}", shown::line(&entry.tags.join(", "), 80));
    }
    if let Some(project) = &entry.project {
        line += &format!("; project: {}", shown::line(project, 200));
    }
    // Nothing a memory says opens a comment or a tag.
    line.replace('<', "\\<") + "\n"
}

/// The whole file with another generated part. It is put behind a text that has none.
fn merged(before: Option<&[u8]>, generated: &str) -> Vec<u8> {
    let Some(before) = before else { return format!("# Memories\n\n{generated}\n").into_bytes() };
    if let Some((start, end)) = generated_part(before) {
        return [&before[..start], generated.as_bytes(), &before[end..]].concat();
    }
    let gap: &[u8] = match before {
        [] => b"",
        [.., b'\n'] => b"\n",
        _ => b"\n\n",
    };
    [before, gap, generated.as_bytes(), b"\n"].concat()
}

/// Where the generated part stands, with its markers: the first end and the begin nearest before it. A marker alone
/// is a person's text, since what is around it may be, too.
fn generated_part(text: &[u8]) -> Option<(usize, usize)> {
    let mut begin = None;
    let mut at = 0;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let bare = line.trim_ascii_end();
        if bare == END_LINE.as_bytes() {
            if let Some(begin) = begin {
                return Some((begin, at + bare.len()));
            }
        } else if bare.starts_with(BEGIN.as_bytes()) && bare.ends_with(b"-->") {
            begin = Some(at);
        }
        at += line.len();
    }
    None
}
