//! The run's tools under the names that models have for them.

/// Prefixes that models put before names.
const PREFIXES: [&str; 8] =
    ["functions.", "functions:", "function.", "default_api.", "default_api:", "tools.", "tool.", "call:"];
/// Longest name that is looked up.
const MOST_BYTES: usize = 160;

/// The tools of a run.
pub(super) struct Names<'n>(Vec<Name<'n>>);

struct Name<'n> {
    canonical: &'n str,
    whole: String,
    /// What stands behind the last dot.
    last: String,
}

impl<'n> Names<'n> {
    pub(super) fn new(tools: impl Iterator<Item = &'n str>) -> Self {
        let name = |canonical: &'n str| Name {
            canonical,
            whole: loose(canonical),
            last: loose(canonical.rsplit('.').next().unwrap_or(canonical)),
        };
        Self(tools.map(name).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The tool that is meant, in whatever spelling: with prefixes, without its first part, with a number behind it.
    pub(super) fn find(&self, said: &str) -> Option<&'n str> {
        let said = said.trim().trim_matches(['"', '\'', '`']);
        if said.is_empty() || said.len() > MOST_BYTES {
            return None;
        }
        let said = PREFIXES.iter().find_map(|prefix| said.strip_prefix(prefix)).unwrap_or(said);
        let said = said.strip_suffix(".call").unwrap_or(said);
        let said = match said.rsplit_once(':') {
            Some((name, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => said,
        };
        let said = loose(said);
        self.whole(&said).or_else(|| {
            let mut hits = self.0.iter().filter(|name| name.last == said);
            let hit = hits.next()?;
            hits.next().is_none().then_some(hit.canonical)
        })
    }

    /// The same where nothing but the whole name will do.
    pub(super) fn find_whole(&self, said: &str) -> Option<&'n str> {
        if said.len() > MOST_BYTES { None } else { self.whole(&loose(said)) }
    }

    fn whole(&self, said: &str) -> Option<&'n str> {
        self.0.iter().find(|name| name.whole == said && !said.is_empty()).map(|name| name.canonical)
    }
}

/// Whether a text can be the name of a tool, of this run or not.
pub(super) fn is_name(said: &str) -> bool {
    said.len() <= MOST_BYTES
        && said.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && said.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '/'))
}

/// Letters and digits only, since each API has its own characters for the dot.
pub(super) fn loose(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}
