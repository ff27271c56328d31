//! Hooks guard runs; this version cannot run them, so it starts no run beside a file of hooks.

use std::ffi::OsString;
use std::path::Path;
use std::{fs, io};

use agent_config::Config;
use agent_protocol::shown_path;
use agent_redact::quote_name;

use crate::error::BuildError;

/// The file of the user's hooks in home (HOK-1). There is no other: a project's is not looked at.
const HOOKS_FILE: &str = "hooks.json";

/// So many names of the home are looked at.
const MAX_NAMES: usize = 1000;
/// So many files are named.
const MAX_NEAR: usize = 5;
/// Endings of files that somebody may have written hooks into.
const ENDINGS: [&str; 9] = ["json", "json.txt", "json5", "jsonc", "toml", "txt", "yaml", "yml", ""];

/// What lies in home and is nearly the file of hooks, one line each: it is not read, and what it forbids is not forbidden. Where hooks
/// are switched off nobody counts on them.
pub(crate) fn near_hooks(config: &Config, home: &Path) -> Vec<String> {
    if !config.hooks.enabled {
        return Vec::new();
    }
    let names = fs::read_dir(home).into_iter().flatten().flatten().take(MAX_NAMES).map(|entry| entry.file_name());
    let mut near: Vec<_> = names.filter(|name| name.to_str().is_some_and(is_nearly_hooks)).collect();
    near.sort();
    let line = |name: &OsString| {
        let path = quote_name(&shown_path(&home.join(name)));
        format!("{path}: is not read: hooks are called {HOOKS_FILE}, in just these letters, and this version runs none")
    };
    near.iter().take(MAX_NEAR).map(line).collect()
}

/// Whether a name differs from the one of hooks by its case, its ending, a dot in front or the missing `s`.
fn is_nearly_hooks(name: &str) -> bool {
    let folded = name.to_ascii_lowercase();
    let (stem, ending) = match folded.trim_start_matches('.').split_once('.') {
        Some((stem, ending)) => (stem, ending),
        None => (folded.trim_start_matches('.'), ""),
    };
    name != HOOKS_FILE && matches!(stem, "hook" | "hooks") && ENDINGS.contains(&ending)
}

/// Refuses where there is a file of hooks and they are not switched off. Whatever has that name counts, also what cannot be
/// read, and so does a home in which it cannot be told.
pub(crate) fn refuse_hooks(config: &Config, home: &Path) -> Result<(), BuildError> {
    let path = home.join(HOOKS_FILE);
    if !config.hooks.enabled {
        return Ok(());
    }
    match path.symlink_metadata() {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(()),
        Err(source) => Err(BuildError::Hooks { path, source: Some(source) }),
        Ok(_) => Err(BuildError::Hooks { path, source: None }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FND-07, HOK-1: what is nearly the file of hooks is told, by its path, while hooks are not switched off; other files are not.
    #[test]
    fn near_names_of_hooks_are_told() {
        let home = agent_testkit::scratch("near-hooks");
        let mut config = Config::default();
        config.hooks.enabled = true;
        for name in [
            "Hooks.json",
            "HOOKS.JSON",
            "hook.json",
            "hooks.jsonc",
            "hooks.json5",
            ".hooks.json",
            "hooks.yaml",
            "hooks",
            "hooks.json.txt",
        ] {
            let path = home.join(name);
            fs::write(&path, "").unwrap();
            let told = near_hooks(&config, &home);
            let is_told = |line: &String| line.contains(&*shown_path(&path)) && line.contains("is not read");
            assert!(told.len() == 1 && told.iter().all(is_told), "{name}: {told:?}");
            config.hooks.enabled = false;
            assert!(near_hooks(&config, &home).is_empty(), "{name}");
            config.hooks.enabled = true;
            fs::remove_file(&path).unwrap();
        }
        for name in ["hooks.json", "hooks.md", "webhooks.json", "hooks2.json", "config.toml"] {
            fs::write(home.join(name), "").unwrap();
        }
        assert_eq!(near_hooks(&config, &home), Vec::<String>::new());
        assert_eq!(near_hooks(&config, &home.join("gone")), Vec::<String>::new());
    }
}
