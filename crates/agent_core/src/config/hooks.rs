//! Hooks guard runs; this version cannot run them, so it starts no run beside a file of hooks.

use std::io;
use std::path::Path;

use agent_config::Config;

use crate::error::BuildError;

/// The file of the user's hooks in home (HOK-1). There is no other: a project's is not looked at.
const HOOKS_FILE: &str = "hooks.json";

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
