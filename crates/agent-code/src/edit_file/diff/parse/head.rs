//! What stands above the hunks.

use crate::edit_file::diff::{
    error::DiffError,
    names::{Names, name_in},
};

const NULL: &str = "/dev/null";
const BINARY: &str = "is a binary one";

/// The header of one file, as far as it matters.
#[derive(Debug, Default)]
pub(super) struct Head {
    /// Says that the file is new.
    pub(super) creates: bool,
    names: Vec<(usize, Name)>,
    unsupported: Option<&'static str>,
    /// What follows are bytes in letters, and no lines of a diff.
    binary: bool,
    /// Names differ by intent, which is then what to tell.
    renames: bool,
    /// The number of a line that stands here a second time.
    second: Option<usize>,
    /// Which of `diff`, `Index:`, `---` and `+++` were there.
    seen: [bool; 4],
}

#[derive(Debug)]
enum Name {
    One(String),
    /// Of a `diff` line.
    Both(String),
}

impl Head {
    /// Takes one line.
    pub(super) fn read(&mut self, number: usize, line: &str) -> Result<(), DiffError> {
        let line = line.trim_end_matches('\r');
        if self.binary {
            return Ok(());
        }
        let Some((word, rest)) = keyword(line) else {
            return if line.trim().is_empty() { Ok(()) } else { Err(junk(number, line, false)) };
        };
        match word {
            "diff " => self.both(number, rest),
            "Index: " => self.one(number, 1, rest),
            "--- " if name_in(rest) == NULL => {
                self.count(number, 2);
                self.creates = true;
            }
            "--- " => self.one(number, 2, rest),
            "+++ " if name_in(rest) == NULL => self.unsupported = Some("deletes the file"),
            "+++ " => self.one(number, 3, rest),
            "new file mode " if rest.trim() == "100644" => self.creates = true,
            "new file mode " | "old mode " | "new mode " => self.unsupported = Some("sets the mode of the file"),
            "deleted file mode " => self.unsupported = Some("deletes the file"),
            "rename " | "copy " | "similarity index " => self.renames = true,
            "Binary files " => self.unsupported = Some(BINARY),
            "GIT binary patch" => (self.unsupported, self.binary) = (Some(BINARY), true),
            // Hashes, and lines for the eye.
            _ => {}
        }
        Ok(())
    }

    fn count(&mut self, number: usize, place: usize) {
        if std::mem::replace(&mut self.seen[place], true) {
            self.second.get_or_insert(number);
        }
    }

    fn one(&mut self, number: usize, place: usize, rest: &str) {
        self.count(number, place);
        self.names.push((number, Name::One(name_in(rest).to_owned())));
    }

    /// `diff --git a/x b/x`, `diff -u x x`.
    fn both(&mut self, number: usize, mut rest: &str) {
        self.count(number, 0);
        while let Some((_, more)) = rest.split_once(' ').filter(|_| rest.starts_with('-')) {
            rest = more;
        }
        self.names.push((number, Name::Both(rest.to_owned())));
    }

    /// The header is of this file, and of nothing but its text.
    pub(super) fn check(&self, names: &Names) -> Result<(), DiffError> {
        if self.renames {
            return Err(DiffError::Unsupported { what: "renames or copies the file" });
        }
        for (line, name) in &self.names {
            let (written, known) = match name {
                Name::One(name) => (name, names.include(name)),
                Name::Both(pair) => (pair, names.include_both(pair)),
            };
            if !known {
                return Err(DiffError::other_file(*line, written));
            }
        }
        if let Some(what) = self.unsupported {
            return Err(DiffError::Unsupported { what });
        }
        self.second.map_or(Ok(()), |line| Err(DiffError::SecondHeader { line }))
    }
}

/// What a line of a header begins with.
pub(super) fn keyword(line: &str) -> Option<(&'static str, &str)> {
    const KNOWN: [&str; 16] = [
        "diff ",
        "Index: ",
        "--- ",
        "+++ ",
        "index ",
        "======",
        "new file mode ",
        "old mode ",
        "new mode ",
        "deleted file mode ",
        "rename ",
        "copy ",
        "similarity index ",
        "dissimilarity index ",
        "Binary files ",
        "GIT binary patch",
    ];
    KNOWN.into_iter().find_map(|word| line.strip_prefix(word).map(|rest| (word, rest)))
}

/// A line that belongs nowhere. `inside`: right after lines of a hunk, so that it may be one that lost its first character.
pub(super) fn junk(number: usize, line: &str, inside: bool) -> DiffError {
    let problem = match line.as_bytes().first() {
        Some(b'`') => "is no line of a diff; leave code fences out",
        Some(b'*') if line.starts_with("*** ") => {
            "is of another patch format; give a unified diff, whose hunks begin with @@ -start,count +start,count @@"
        }
        Some(b'-' | b'+' | b' ') => "is not in a hunk; a hunk begins with @@ -start,count +start,count @@",
        Some(b'\\') => {
            "marks no line; only \"\\ No newline at end of file\" may begin so, after the last line of the file"
        }
        _ if inside => "is no line of a hunk: those begin with a blank (unchanged), - (removed) or + (added)",
        _ => "is no line of a unified diff; give nothing but the diff",
    };
    DiffError::syntax(number, line, problem)
}
