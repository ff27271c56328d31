//! Which files a search is about.

use agent_protocol::ErrorPayload;
use ignore::overrides::{Override, OverrideBuilder};

use crate::{fail, path_notes::is_escaped};

/// So many parts of a glob may be names or patterns, each for itself; beyond, all are one or the other.
const MAX_READINGS: usize = 4;

/// Globs of people: `!` excludes, without a slash they match at any depth, with one from the folder that is searched. A leading
/// `./` means nothing, and what names a folder means what is in it.
///
/// A part with brackets is a pattern and a name: `app/[id]/*.tsx` finds what lies in a folder of that very name, too.
pub(super) fn parse(glob: &str) -> Result<Override, ErrorPayload> {
    if is_escaped(glob) {
        return Err(fail::invalid(format!("a glob has no bytes: write ? in place of each \\xNN in {glob}")));
    }
    let (sign, rest) = glob.strip_prefix('!').map_or(("", glob), |rest| ("!", rest));
    let rest = rest.strip_prefix("./").unwrap_or(rest);
    let as_pattern = build(sign, &[rest.to_owned()]);
    let named = readings(rest);
    if named.len() < 2 {
        return as_pattern;
    }
    // Where one of the readings is no pattern, such as `[z-a]`, the others count.
    let usable: Vec<String> = named.into_iter().filter(|one| build(sign, std::slice::from_ref(one)).is_ok()).collect();
    if usable.is_empty() { as_pattern } else { build(sign, &usable) }
}

fn build(sign: &str, globs: &[String]) -> Result<Override, ErrorPayload> {
    let mut builder = OverrideBuilder::new("");
    let failed = |error: ignore::Error| {
        fail::invalid(format!(
            "the glob cannot be used: {error}; it should look like *.rs, src/**, {{*.rs,*.md}} or !*.md"
        ))
    };
    for glob in globs {
        if !glob.ends_with('/') {
            builder.add(&format!("{sign}{glob}")).map_err(failed)?;
        }
        let folder = glob.trim_end_matches('/');
        let anywhere = if folder.contains('/') { "" } else { "**/" };
        builder.add(&format!("{sign}{anywhere}{folder}/**")).map_err(failed)?;
    }
    builder.build().map_err(failed)
}

/// The glob with each of its bracketed parts as a pattern and as a name.
fn readings(glob: &str) -> Vec<String> {
    let parts: Vec<&str> = glob.split('/').collect();
    let doubtful: Vec<usize> = (0..parts.len()).filter(|at| has_brackets(parts[*at])).collect();
    if doubtful.is_empty() {
        return vec![glob.to_owned()];
    }
    let ways = 1usize << doubtful.len().min(MAX_READINGS);
    let reading = |way: usize| {
        let part = |(at, part): (usize, &&str)| match doubtful.iter().position(|doubt| *doubt == at) {
            Some(place) if way >> place.min(MAX_READINGS - 1) & 1 == 1 => as_name(part),
            _ => (*part).to_owned(),
        };
        parts.iter().enumerate().map(part).collect::<Vec<_>>().join("/")
    };
    (0..ways).map(reading).collect()
}

/// Whether a part has whole pairs of brackets that are not escaped.
fn has_brackets(part: &str) -> bool {
    [('[', ']'), ('{', '}')].iter().any(|(open, close)| {
        part.find(*open).is_some_and(|at| part[at..].contains(*close) && !part[..at].ends_with('\\'))
    })
}

/// A part whose brackets are letters.
fn as_name(part: &str) -> String {
    let mut name = String::new();
    for c in part.chars() {
        if matches!(c, '[' | ']' | '{' | '}') {
            name.push('\\');
        }
        name.push(c);
    }
    name
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(glob: &str, path: &str, is_in: bool) {
        assert_eq!(!parse(glob).unwrap().matched(path, false).is_ignore(), is_in, "{glob} {path}");
    }

    /// FND-24: a part with brackets matches the folder of that name, and what it means as a pattern.
    #[test]
    fn brackets_are_names_and_patterns() {
        for glob in ["app/[id]/*.tsx", "**/[id]/**", "[id]", "app/[id]", "app/[id]/page.tsx", "./app/[id]/"] {
            check(glob, "app/[id]/page.tsx", true);
            check(glob, "app/x/page.tsx", false);
        }
        check("src", "a/src/b.rs", true);
        check("app/[id]/*.tsx", "app/i/page.tsx", true);
        check("app/(app)/*.tsx", "app/(app)/page.tsx", true);
        check("**/[...slug]/[id].tsx", "a/[...slug]/[id].tsx", true);
        check("**/[...slug]/[id].tsx", "a/[...slug]/i.tsx", true);
        check("**/[[...all]]/*", "a/[[...all]]/x", true);
        check("[z-a]/x", "[z-a]/x", true);
        check("*.{rs,md}", "a.md", true);
        check("!app/[id]/**", "app/[id]/page.tsx", false);
        check("!app/[id]/**", "app/x/page.tsx", true);
        assert!(parse("{").is_err() && parse("[").is_err());
    }

    proptest! {
        #![proptest_config(crate::testing::cases(256))]

        /// FND-24: whatever brackets a path has, the path as a glob finds it.
        #[test]
        fn a_path_finds_itself(parts in prop::collection::vec("[a-c(\\[{][a-c.-]{1,3}[)\\]}]?", 1..4)) {
            let path = parts.join("/");
            let balanced = |open, close| path.matches(open).count() == path.matches(close).count();
            prop_assume!(parts.iter().all(|part| {
                let whole = |open: char, close: char| part.contains(open) == part.contains(close);
                whole('[', ']') && whole('{', '}')
            }));
            prop_assume!(balanced('[', ']') && balanced('{', '}'));
            prop_assert!(!parse(&path).unwrap().matched(&path, false).is_ignore(), "{}", path);
        }
    }
}
