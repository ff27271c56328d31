//! Tool names on the wire and back (PRV-4).
//!
//! Canonical names hold dots; the servers' pattern is `[A-Za-z_][A-Za-z0-9_-]{0,63}`. A wire name is a pure function of
//! the canonical one — a dot becomes `__` — so that a message of the history keeps its bytes for ever. Only where two
//! tools of a request would share a wire name does one of them get another; the table's fingerprint then changes, and with
//! it the key under which wire forms are kept. The way back is a look-up in the table, never a decoding.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::digest::{digest, short};

/// Longest name every server takes.
const MAX_LEN: usize = 64;
/// Characters of the hash that stands at the end of a name that would not fit or not be unique.
const HASH_CHARS: u32 = 10;
/// Prefixes models put before names although nobody told them to.
const INVENTED_PREFIXES: [&str; 5] = ["functions.", "functions:", "default_api.", "default_api:", "tools."];

/// The names of one request's tools.
#[derive(Debug, Default)]
pub(crate) struct NameTable {
    tools: Vec<Names>,
    /// Those whose wire name is not the pure function of their canonical name.
    moved: Vec<usize>,
    fingerprint: u64,
}

#[derive(Debug)]
struct Names {
    canonical: String,
    wire: String,
}

impl NameTable {
    /// The table of these canonical names. Depends on which names there are, not on their order.
    pub(crate) fn new<'a>(canonical: impl IntoIterator<Item = &'a str>) -> Self {
        let tools: Vec<Names> = canonical
            .into_iter()
            .map(|name| Names { canonical: name.to_owned(), wire: mangle(name).into_owned() })
            .collect();
        let mut table = Self { tools, moved: Vec::new(), fingerprint: 0 };
        table.separate();
        table
    }

    /// Gives tools that share a wire name names of their own.
    fn separate(&mut self) {
        let mut order: Vec<usize> = (0..self.tools.len()).collect();
        order.sort_by(|&a, &b| {
            let (a, b) = (&self.tools[a], &self.tools[b]);
            (&a.wire, &a.canonical).cmp(&(&b.wire, &b.canonical))
        });
        let tools = &self.tools;
        let shares =
            |&i: &usize, &j: &usize| tools[i].wire == tools[j].wire && tools[i].canonical != tools[j].canonical;
        // A tool that is already called what it is called on the wire keeps its name.
        let mut moved: Vec<usize> = order
            .chunk_by(|i, j| tools[*i].wire == tools[*j].wire)
            .filter(|group| group.windows(2).any(|pair| shares(&pair[0], &pair[1])))
            .flatten()
            .copied()
            .filter(|&i| tools[i].canonical != tools[i].wire)
            .collect();
        if moved.is_empty() {
            return;
        }
        moved.sort_by(|&a, &b| tools[a].canonical.cmp(&tools[b].canonical));
        let mut taken: BTreeSet<String> =
            order.iter().filter(|i| !moved.contains(i)).map(|&i| tools[i].wire.clone()).collect();
        for &i in &moved {
            let name = &mut self.tools[i];
            name.wire = (0..=u8::MAX)
                .map(|salt| hashed(&name.canonical, salt))
                .find(|wire| !taken.contains(wire))
                .unwrap_or_default();
            taken.insert(name.wire.clone());
        }
        self.fingerprint = digest(moved.iter().flat_map(|&i| {
            let Names { canonical, wire } = &self.tools[i];
            [canonical.as_bytes(), wire.as_bytes()]
        }));
        self.moved = moved;
    }

    /// Changes with everything in the table that [`NameTable::wire`] depends on besides the name; 0 without collisions.
    pub(crate) fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// What a canonical name is called on the wire, whether or not the request has the tool.
    pub(crate) fn wire<'a>(&'a self, canonical: &'a str) -> Cow<'a, str> {
        match self.moved.iter().map(|&i| &self.tools[i]).find(|names| names.canonical == canonical) {
            Some(names) => Cow::Borrowed(&names.wire),
            None => mangle(canonical),
        }
    }

    /// The tool a model means. Exact names win; then what models are known to do to names is undone, as long as exactly
    /// one tool fits. None: no such tool, and the model's own word goes on.
    pub(crate) fn canonical(&self, said: &str) -> Option<&str> {
        let find = |fits: &dyn Fn(&str) -> bool| {
            let mut hits = self.tools.iter().filter(|names| fits(&names.wire) || fits(&names.canonical));
            let hit = hits.next()?;
            hits.all(|other| other.canonical == hit.canonical).then_some(hit.canonical.as_str())
        };
        let exact = self.tools.iter().find(|names| names.wire == said);
        if let Some(names) = exact.or_else(|| self.tools.iter().find(|names| names.canonical == said)) {
            return Some(&names.canonical);
        }
        let trimmed = said.trim();
        let bare = INVENTED_PREFIXES.iter().find_map(|prefix| trimmed.strip_prefix(prefix)).unwrap_or(trimmed);
        [trimmed, bare].into_iter().find_map(|said| {
            find(&|name| name == said)
                .or_else(|| find(&|name| name.eq_ignore_ascii_case(said)))
                .or_else(|| find(&|name| loose(name) == loose(said)))
        })
    }

    /// Whether this is a wire name of the table.
    pub(crate) fn has_wire(&self, name: &str) -> bool {
        self.tools.iter().any(|names| names.wire == name)
    }

    /// Whether a wire name of the table begins so: a name may come in pieces.
    pub(crate) fn begins_wire(&self, start: &str) -> bool {
        self.tools.iter().any(|names| names.wire.starts_with(start))
    }
}

/// The wire name of a canonical one. A name that fits stays as it is.
fn mangle(canonical: &str) -> Cow<'_, str> {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    let good_start = canonical.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if good_start && canonical.bytes().all(allowed) && canonical.len() <= MAX_LEN {
        return Cow::Borrowed(canonical);
    }
    let only_dots = canonical.bytes().all(|b| allowed(b) || b == b'.');
    let wire = canonical.replace('.', "__");
    if good_start && only_dots && wire.len() <= MAX_LEN {
        return Cow::Owned(wire);
    }
    // Something is lost, so a hash keeps it unique.
    Cow::Owned(hashed(canonical, 0))
}

/// A readable beginning and a hash of the whole.
fn hashed(canonical: &str, salt: u8) -> String {
    let hash = short(digest([canonical.as_bytes(), &[salt]]), HASH_CHARS);
    let room = MAX_LEN - hash.len() - "_h".len();
    let mut wire = String::with_capacity(MAX_LEN);
    if !canonical.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        wire.push('_');
    }
    for c in canonical.chars() {
        let piece = match c {
            '.' => "__",
            c if c.is_ascii_alphanumeric() || c == '-' => &*c.to_string(),
            _ => "_",
        };
        if wire.len() + piece.len() > room {
            break;
        }
        wire.push_str(piece);
    }
    wire.push_str("_h");
    wire.push_str(&hash);
    wire
}

/// A name without case and with all separators alike: `Code.Read_File`, `code__read_file` and `code_read_file` are one.
fn loose(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    for c in name.chars() {
        if c.is_alphanumeric() {
            plain.extend(c.to_lowercase());
        } else if !plain.is_empty() && !plain.ends_with('_') {
            plain.push('_');
        }
    }
    plain.truncate(plain.trim_end_matches('_').len());
    plain
}

#[cfg(test)]
mod tests;
