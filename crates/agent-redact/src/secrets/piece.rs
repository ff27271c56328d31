//! Pieces of a text that known values must not be cut by: what is left of a cut value is not found any more.

use std::{borrow::Cow, ops::Range};

use super::KnownSecrets;

impl KnownSecrets {
    /// Where to end a piece that should end at `at`: there, or where a known value begins that a cut there would go through.
    #[must_use]
    pub fn cut_before(&self, text: &[u8], at: usize) -> usize {
        self.across(text, at).map_or(at, |value| value.start)
    }

    /// The same behind the value: the piece holds the whole of it.
    #[must_use]
    pub fn cut_after(&self, text: &[u8], at: usize) -> usize {
        self.across(text, at).map_or(at, |value| value.end)
    }

    /// The known value that begins before `at` and ends behind it. Looks no further than a value can reach.
    fn across(&self, text: &[u8], at: usize) -> Option<Range<usize>> {
        let from = at.saturating_sub(self.longest());
        let near = &text[from..text.len().min(at.saturating_add(self.longest()))];
        let values = self.matches(near).filter(|(_, _, marker)| marker.secret);
        let mut values = values.map(|(start, end, _)| from + start..from + end);
        values.find(|value| value.start < at && at < value.end)
    }

    /// Replaces known values in a text of which single lines are shown: each line keeps its number, also behind a value of
    /// several lines.
    #[must_use]
    pub fn redact_lines<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        let (mut out, mut done) = (Vec::new(), 0);
        for (start, end, marker) in self.matches(text).filter(|(_, _, marker)| marker.secret) {
            out.extend_from_slice(&text[done..start]);
            out.extend_from_slice(marker.text.as_bytes());
            out.extend(text[start..end].iter().filter(|byte| **byte == b'\n'));
            done = end;
        }
        if done == 0 {
            return Cow::Borrowed(text);
        }
        out.extend_from_slice(&text[done..]);
        Cow::Owned(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "sk-Zq7Jm2Xw9Lp4";

    fn secrets() -> KnownSecrets {
        KnownSecrets::new([("KEY", KEY), ("PEM", "-begin-\nQ8rT5v\n-end-")]).unwrap()
    }

    /// STO-10: wherever a key lies, a cut leaves it whole on one side, and stays where it is if it went through none.
    #[test]
    fn cuts_go_around_values() {
        let secrets = secrets();
        for before in 0..60 {
            let text = format!("{}{KEY}{}", "a".repeat(before), "z".repeat(60));
            let (start, end) = (before, before + KEY.len());
            for at in 0..text.len() {
                let cuts = (secrets.cut_before(text.as_bytes(), at), secrets.cut_after(text.as_bytes(), at));
                let expected = if start < at && at < end { (start, end) } else { (at, at) };
                assert_eq!(cuts, expected, "{before} {at}");
            }
        }
    }

    /// STO-10: lines behind a value of several lines keep their numbers.
    #[test]
    fn lines_keep_their_numbers() {
        let text = format!("a {KEY}\n-begin-\nQ8rT5v\n-end- b\nc");
        let shown = secrets().redact_lines(text.as_bytes()).into_owned();
        assert_eq!(String::from_utf8(shown).unwrap(), "a [secret KEY]\n[secret PEM]\n\n b\nc");
        assert!(matches!(secrets().redact_lines(b"nothing"), Cow::Borrowed(_)));
    }
}
