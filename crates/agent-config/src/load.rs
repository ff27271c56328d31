//! From a file, a text or a value to a [`Config`]: the one place here that touches the disk, besides [`read_user_file`].

use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use crate::config::Config;
use crate::parse::{parse, read_value};
use crate::path_value::Places;
use crate::problem::ConfigProblems;
use crate::schema::Report;
use crate::user_file::{UserFileError, read_user_file};

/// Largest `config.toml` that is read: a hundred times a long one.
pub const MAX_CONFIG_BYTES: u64 = 1 << 20;

/// What messages call a configuration that is no file.
pub const TEXT_ORIGIN: &str = "the configuration text";
/// The same of one that was built in code.
pub const VALUE_ORIGIN: &str = "the configuration value";

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// There is no such file. It is not made: a configuration is a decision.
    #[error(
        "there is no configuration at {}; nothing was created. Write one there, such as the packaged template, or hand one \
         over as text",
        .path.display()
    )]
    Missing {
        /// The file asked for.
        path: PathBuf,
    },
    /// The file could not, or must not, be read.
    #[error(transparent)]
    File(UserFileError),
    /// What it says is wrong.
    #[error(transparent)]
    Invalid(#[from] ConfigProblems),
}

/// Reads and checks the configuration at `path`. Nothing is created or changed.
///
/// # Errors
/// [`ConfigError::Missing`]; a file that is not to be trusted, too big or not text; or all problems of its content.
pub fn load(path: &Path, places: &Places) -> Result<Config, ConfigError> {
    let text = read_user_file(path, MAX_CONFIG_BYTES).map_err(|error| match error {
        UserFileError::Missing { path } => ConfigError::Missing { path },
        other => ConfigError::File(other),
    })?;
    let name = path.display().to_string();
    let config = parse(&text, &name, places)?;
    check_links(&config, &name, places)?;
    Ok(config)
}

/// Checks a configuration that is no file as [`load`] does: [`TEXT_ORIGIN`] stands for its name.
///
/// # Errors
/// All problems of its content.
pub fn load_text(text: &str, places: &Places) -> Result<Config, ConfigProblems> {
    let config = parse(text, TEXT_ORIGIN, places)?;
    check_links(&config, TEXT_ORIGIN, places)?;
    Ok(config)
}

/// Checks a configuration that was built in code: an object with the tables and keys of `config.toml`. [`VALUE_ORIGIN`]
/// stands for its name, and problems name their key alone. An empty object means the defaults.
///
/// # Errors
/// All problems of its content.
pub fn load_value(value: &Json, places: &Places) -> Result<Config, ConfigProblems> {
    let config = read_value(value, VALUE_ORIGIN, places)?;
    check_links(&config, VALUE_ORIGIN, places)?;
    Ok(config)
}

/// `memory_dir` must stay inside home when its links are followed, too (CFG-10): what is written there comes from a model.
fn check_links(config: &Config, name: &str, places: &Places) -> Result<(), ConfigProblems> {
    let dir = config.memory.memory_dir.resolve(places);
    let mut report = Report::new("");
    if !stays_inside(&places.home, &dir).unwrap_or(false) {
        let expected = format!("a folder inside {}", places.home.display());
        report.conflict("memory.memory_dir", expected, "it does not stay there when its symbolic links are followed");
    }
    report.into_problems(name)
}

/// Where the existing part of `dir` really is. `dir` names something below `home`.
fn stays_inside(home: &Path, dir: &Path) -> io::Result<bool> {
    let real_home = match home.canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        other => other?,
    };
    for part in dir.ancestors() {
        match part.canonicalize() {
            Ok(real) => return Ok(real.starts_with(&real_home) && (part == home || real != real_home)),
            // A link that leads nowhere would lead somewhere once that is made.
            Err(error) if error.kind() == io::ErrorKind::NotFound && part.symlink_metadata().is_err() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

#[cfg(test)]
#[path = "load_tests.rs"]
mod tests;
