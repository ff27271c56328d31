//! Whether a file is a program, by its first bytes.
//!
//! Where the system finds that it is none, the C library gives the file to a shell, as shells themselves do. Nobody asked
//! for that here: a table of data that is marked executable would be run line by line.

use rustix::fs::{Mode, OFlags, open};
use std::{fs::File, io::Read, path::Path};

/// As much as Linux looks at.
const HEAD: usize = 256;

/// Whether the C library would give the file to a shell. A file that cannot be read is left to the system.
pub(crate) fn is_for_a_shell(program: &Path) -> bool {
    // Not blocking, should it be a pipe by now.
    let Ok(file) = open(program, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty()) else {
        return false;
    };
    let mut head = Vec::with_capacity(HEAD);
    File::from(file).take(HEAD as u64).read_to_end(&mut head).is_ok_and(|_| !is_program(&head))
}

/// A script that names its interpreter, or anything that is no text: which binary formats are programs is for the system
/// to say, since it can be taught new ones. Its word is lost on a text that was registered as a format.
fn is_program(head: &[u8]) -> bool {
    match head.strip_prefix(b"#!") {
        Some(line) => names_an_interpreter(line, head.len() == HEAD),
        None => head.contains(&0) && !begins_with_text(head),
    }
}

/// A line of blanks, or one that was cut off within the name, names none.
fn names_an_interpreter(rest: &[u8], cut: bool) -> bool {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let (line, ends) = match rest.iter().position(|byte| *byte == b'\n') {
        Some(end) => (&rest[..end], true),
        None => (rest, !cut),
    };
    let Some(start) = line.iter().position(|byte| !is_blank(byte)) else { return false };
    line[start] != 0 && (ends || line[start..].iter().any(|byte| is_blank(byte) || *byte == 0))
}

/// Whether the first of several lines is one that people read.
fn begins_with_text(head: &[u8]) -> bool {
    let Some(end) = head.iter().position(|byte| *byte == b'\n') else { return false };
    let line = &head[..end];
    !line.iter().any(|byte| byte.is_ascii_control() && !matches!(byte, b'\t' | b'\r')) && str::from_utf8(line).is_ok()
}

#[cfg(test)]
mod tests;
