//! Paths as plain text.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// A path as ASCII: letters, digits, `/`, `.`, `_` and `-` as they are, every other byte as `%` and two hexadecimal digits. No
/// two paths share a form.
#[must_use]
pub fn percent_encoded(path: &Path) -> String {
    path.as_os_str().as_bytes().iter().fold(String::new(), |mut text, byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' => text.push(char::from(*byte)),
            other => {
                // Writing to a string cannot fail.
                let _ = write!(text, "%{other:02X}");
            }
        }
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    #[test]
    fn every_byte_has_a_form() {
        let form = |bytes: &[u8]| percent_encoded(Path::new(OsStr::from_bytes(bytes)));
        assert_eq!(form(b"/a-b_c.d/0"), "/a-b_c.d/0");
        assert_eq!(form(b"/p\xff"), "/p%FF");
        assert_eq!(form(b"/p%FF"), "/p%25FF");
        assert_eq!(form("/\u{e4} ?#\n".as_bytes()), "/%C3%A4%20%3F%23%0A");
    }
}
