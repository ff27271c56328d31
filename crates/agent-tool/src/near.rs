//! "Did you mean": names that look like a wanted one.

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

/// Up to three file names that were probably meant, the likeliest first.
pub fn near_files<'a>(wanted: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted = wanted.to_lowercase();
    closest(candidates, |candidate| distance(&wanted, &candidate.to_lowercase()))
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
}
