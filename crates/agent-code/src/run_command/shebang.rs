//! Why the first line of a script starts nothing.

use std::{fs::File, io::Read, path::Path};

/// As much of the line as is looked at. Bytes.
const HEAD: u64 = 256;

/// What is wrong with the interpreter a script names, if its line ends as lines do on Windows: the system takes the carriage
/// return for a part of the name, which nobody sees.
pub(super) fn fault(program: &Path) -> Option<String> {
    let mut head = Vec::new();
    File::open(program).ok()?.take(HEAD).read_to_end(&mut head).ok()?;
    let line = head.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?.strip_suffix(b"\r")?;
    let line = String::from_utf8_lossy(line);
    let name = line.trim();
    Some(format!(
        "its first line `#!{name}` ends with a carriage return (CRLF), so the system looks for an interpreter called `{name}\\r`; \
         change its line ends to LF"
    ))
}
