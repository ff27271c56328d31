//! Whether a name in a diff is that of the file. Only names are compared; nothing is opened.

/// Longer names are no names of the file. Bytes, as written.
const LONGEST: usize = 8192;

/// What the file may be called.
#[derive(Debug)]
pub(crate) struct Names(Vec<Vec<u8>>);

impl Names {
    pub(crate) fn new<'a>(names: impl IntoIterator<Item = &'a [u8]>) -> Self {
        Self(names.into_iter().map(plain).collect())
    }

    /// Whether a name as it stands in a header is one of them, with or without git's `a/` and `b/`. A name that begins
    /// with a real folder `a` is tried as it is, too (EDIT-27).
    pub(super) fn include(&self, written: &str) -> bool {
        if written.len() > LONGEST {
            return false;
        }
        unquoted(written).is_some_and(|name| self.has(&name)) || self.has(written.as_bytes())
    }

    fn has(&self, name: &[u8]) -> bool {
        let is = |name: &[u8]| {
            let name = plain(name);
            self.0.contains(&name)
        };
        let bare = name.strip_prefix(b"a/").or_else(|| name.strip_prefix(b"b/"));
        // Of an absolute path git leaves out the slash: a/home/x.
        is(name) || bare.is_some_and(|bare| is(bare) || is(&[b"/", bare].concat()))
    }

    /// Whether both names of a `diff` line are. They are not told apart by any quoting, so every border is tried.
    pub(super) fn include_both(&self, written: &str) -> bool {
        written.len() <= 2 * LONGEST
            && memchr::memchr_iter(b' ', written.as_bytes())
                .take_while(|border| *border <= LONGEST)
                .any(|border| self.include(&written[..border]) && self.include(&written[border + 1..]))
    }
}

/// Without doubled slashes and `.`.
fn plain(name: &[u8]) -> Vec<u8> {
    let parts: Vec<&[u8]> = name.split(|byte| *byte == b'/').filter(|part| !part.is_empty() && *part != b".").collect();
    let mut plain = if name.starts_with(b"/") { vec![b'/'] } else { Vec::new() };
    plain.extend(parts.join(&b'/'));
    plain
}

/// The name in the rest of a `---` or `+++` line: up to the tab before a time, or in quotes.
pub(super) fn name_in(rest: &str) -> &str {
    match rest.strip_prefix('"').and_then(closing_quote) {
        Some(inner) => &rest[..inner + 2],
        None => rest.split('\t').next().unwrap_or(rest).trim_end_matches('\r'),
    }
}

/// Where the quote that is open ends.
fn closing_quote(inner: &str) -> Option<usize> {
    let mut escaped = false;
    inner.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })
}

/// A name that git wrote in quotes, as C would. `None` if it is not one.
fn unquoted(written: &str) -> Option<Vec<u8>> {
    let inner = written.strip_prefix('"')?.strip_suffix('"')?.as_bytes();
    let mut name = Vec::with_capacity(inner.len());
    let mut rest = inner;
    while let Some((first, more)) = rest.split_first() {
        rest = more;
        if *first != b'\\' {
            name.push(*first);
            continue;
        }
        let (byte, more) = escaped(rest)?;
        name.push(byte);
        rest = more;
    }
    Some(name)
}

fn escaped(rest: &[u8]) -> Option<(u8, &[u8])> {
    if let [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', more @ ..] = rest {
        return Some(((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'), more));
    }
    let (first, more) = rest.split_first()?;
    let byte = match first {
        b'a' => 7,
        b'b' => 8,
        b't' => b'\t',
        b'n' => b'\n',
        b'v' => 11,
        b'f' => 12,
        b'r' => b'\r',
        b'"' | b'\\' => *first,
        _ => return None,
    };
    Some((byte, more))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, written: &str, expected: bool) {
        assert_eq!(Names::new([path.as_bytes()]).include(name_in(written)), expected, "{path} as {written}");
    }

    /// EDIT-27: prefixes, absolute paths, real folders `a` and `b`.
    #[test]
    fn prefixes_are_not_folders_and_folders_not_prefixes() {
        for written in ["a/src/x.rs", "b/src/x.rs", "src/x.rs", "./src/x.rs", "a/src//./x.rs"] {
            check("src/x.rs", written, true);
        }
        for written in
            ["a/src/y.rs", "x.rs", "a/x.rs", "c/src/x.rs", "a/b/src/x.rs", "/src/x.rs", "", "a/", "/dev/null"]
        {
            check("src/x.rs", written, false);
        }
        for written in ["a//abs/x", "/abs/x", "b//abs/x", "a/abs/x", "//abs/x"] {
            check("/abs/x", written, true);
        }
        check("/abs/x", "abs/x", false);
        for (written, expected) in [("a/a/x.txt", true), ("b/a/x.txt", true), ("a/x.txt", true), ("b/x.txt", false)] {
            check("a/x.txt", written, expected);
        }
    }

    #[test]
    fn times_and_quotes() {
        check("x", "a/x\t2024-01-01 00:00:00.000000000 +0000", true);
        check("x", "x\r", true);
        check("with space", "a/with space\t", true);
        check("with space", r#""a/with\040space""#, true);
        check("with space", "\"a/with\\040space\"\t2024-01-01", true);
        check("ä\"\\\t\n", r#""b/\303\244\"\\\t\n""#, true);
        check("ä", r#""a/\303""#, false);
        check("x", r#""a/\x""#, false);
        check("x", r#""a/x"#, false);
        check("\"x\"", "\"x\"", true);
    }

    #[test]
    fn pairs() {
        let check = |path: &str, written: &str, expected| {
            assert_eq!(Names::new([path.as_bytes()]).include_both(written), expected, "{path} as {written}");
        };
        check("x y", "a/x y b/x y", true);
        check("x", "a/x b/x", true);
        check("x", "a/x b/y", false);
        check("x", "a/x", false);
        check("ä x", r#""a/\303\244 x" "b/\303\244 x""#, true);
        check("x", &" ".repeat(100_000), false);
        check("x", &"\"".repeat(100_000), false);
    }
}
