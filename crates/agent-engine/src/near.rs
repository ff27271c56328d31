//! "Did you mean": names close to one that does not exist.

use strsim::osa_distance;

/// At most three names close to `wanted`, best first: names that share words with it, then names a few letters away. Case,
/// separators and a prefix in front do not count as differences.
#[must_use]
pub fn near_names<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    // A name longer than any tool's cannot be a slip of one; it must not cost time either.
    if wanted.len() > 200 {
        return Vec::new();
    }
    let wanted = plain(wanted);
    let mut scored: Vec<_> = known
        .into_iter()
        .filter_map(|name| {
            let candidate = plain(name);
            let last_part = candidate.rsplit('.').next().unwrap_or(&candidate);
            let shared = words(last_part).filter(|word| words(&wanted).any(|other| other == *word)).count();
            let distance = osa_distance(&wanted, &candidate).min(osa_distance(&wanted, last_part));
            let missing = words(last_part).count() - shared;
            let close = distance <= 1 + last_part.len() / 4;
            (shared > 0 || close).then_some((missing, std::cmp::Reverse(shared), distance, name))
        })
        .collect();
    scored.sort();
    scored.into_iter().take(3).map(|(.., name)| name).collect()
}

fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split(['.', '_']).filter(|word| !word.is_empty())
}

fn plain(name: &str) -> String {
    name.trim().to_lowercase().replace("__", ".").replace(['-', ' ', '/', ':'], "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOLS: [&str; 6] =
        ["code.read_file", "code.list_dir", "code.search", "code.write_file", "code.edit_file", "code.run_command"];

    /// RUN-15, STRM-14: the message can list near names.
    #[test]
    fn close_names_are_found() {
        for (wanted, expected) in [
            ("search_files", "code.search"),
            ("Code.Read_File", "code.read_file"),
            ("code.read_file ", "code.read_file"),
            ("functions.code_read_file", "code.read_file"),
            ("read_file", "code.read_file"),
            ("code__list_dir", "code.list_dir"),
            ("run_comand", "code.run_command"),
        ] {
            assert_eq!(near_names(wanted, TOOLS).first(), Some(&expected), "{wanted}");
        }
        assert!(near_names("browse_the_web", TOOLS).is_empty());
        assert!(near_names(&"x".repeat(5000), TOOLS).is_empty());
    }
}
