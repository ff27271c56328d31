//! "Did you mean": names that look like a wanted one.

use agent_redact::looks_the_same;

/// How many names are suggested at most.
const MOST: usize = 3;
/// Names longer than this are not compared: the comparison is quadratic.
const LONGEST: usize = 128;

/// Up to three of the candidates that were probably meant, the likeliest first.
///
/// Case and separators do not count, and neither does a missing prefix: `read_file` and `code-read-file` both mean
/// `code.read_file`.
pub(crate) fn near_names<'a>(wanted: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted = plain(wanted);
    let tail = format!("_{wanted}");
    closest(candidates, |candidate| {
        let candidate = plain(candidate);
        if candidate.ends_with(&tail) { Some(1) } else { distance(&wanted, &candidate) }
    })
}

/// Up to three file names that were probably meant, the likeliest first: those that look the same, and those that have nearly
/// the same letters.
pub fn near_files<'a>(wanted: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted = wanted.to_lowercase();
    closest(candidates, |candidate| {
        let candidate = candidate.to_lowercase();
        if looks_the_same(&wanted, &candidate) { Some(0) } else { distance(&wanted, &candidate) }
    })
}

fn closest<'a>(
    candidates: impl IntoIterator<Item = &'a str>,
    distance: impl Fn(&str) -> Option<usize>,
) -> Vec<&'a str> {
    let mut near: Vec<(usize, &str)> =
        candidates.into_iter().filter_map(|candidate| Some((distance(candidate)?, candidate))).collect();
    near.sort_unstable();
    near.into_iter().map(|(_, candidate)| candidate).take(MOST).collect()
}

/// `None` where the two have too little in common: a third of the letters may differ.
fn distance(wanted: &str, candidate: &str) -> Option<usize> {
    if wanted.len() > LONGEST || candidate.len() > LONGEST {
        return None;
    }
    let allowed = (wanted.chars().count() / 3).max(1);
    Some(strsim::osa_distance(wanted, candidate)).filter(|distance| *distance <= allowed)
}

fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOLS: [&str; 4] = ["code.read_file", "code.edit_file", "code.list_dir", "mcp.web.search"];

    #[track_caller]
    fn check(wanted: &str, expected: &[&str]) {
        assert_eq!(near_names(wanted, TOOLS), expected, "{wanted}");
    }

    #[test]
    fn tools_are_found_by_sloppy_names() {
        check("code_read_file", &["code.read_file", "code.edit_file"]);
        check("read_file", &["code.read_file"]);
        check("search", &["mcp.web.search"]);
        check("Code.ListDir", &["code.list_dir"]);
        check("bash", &[]);
        check(&"x".repeat(4000), &[]);
    }

    #[test]
    fn files_are_found_by_typos() {
        assert_eq!(near_files("reamde.md", ["README.md", "Cargo.toml", "read.me"]), ["README.md", "read.me"]);
    }

    /// FND-27: another form of the same letters, another case, and letters that only look the same.
    #[test]
    fn files_are_found_by_their_looks() {
        for (wanted, there) in [
            ("é", "e\u{301}"),
            ("ü.md", "u\u{308}.md"),
            ("R\u{c9}SUM\u{c9}.txt", "re\u{301}sume\u{301}.txt"),
            ("\u{430}\u{440}\u{440}.rs", "app.rs"),
            ("app.rs", "\u{430}\u{440}\u{440}.rs"),
        ] {
            assert_eq!(near_files(wanted, ["other", there, "zzzzzz"]), [there], "{wanted}");
        }
    }
}
