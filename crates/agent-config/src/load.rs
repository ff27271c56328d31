//! From a path to a [`Config`]: the one place here that touches the disk, besides [`read_user_file`].

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::config::Config;
use crate::parse::parse;
use crate::path_value::Places;
use crate::problem::ConfigProblems;
use crate::schema::Report;
use crate::user_file::{UserFileError, read_user_file};

/// Largest `config.toml` that is read: a hundred times a long one.
pub const MAX_CONFIG_BYTES: u64 = 1 << 20;

/// A configuration that may be used.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// What it says.
    pub config: Config,
    /// The file it came from.
    pub file: PathBuf,
}

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// There is no such file. It is not made: a configuration is a decision.
    #[error("{}", MissingHelp(.path))]
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
/// [`ConfigError::Missing`] with the two shell lines that make a file; a file that is not to be trusted, too big or not
/// text; or all problems of its content.
pub fn load(path: &Path, places: &Places) -> Result<Loaded, ConfigError> {
    let text = read_user_file(path, MAX_CONFIG_BYTES).map_err(|error| match error {
        UserFileError::Missing { path } => ConfigError::Missing { path },
        other => ConfigError::File(other),
    })?;
    let name = path.display().to_string();
    let config = parse(&text, &name, places)?;
    check_links(&config, &name, places)?;
    Ok(Loaded { config, file: path.to_owned() })
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

/// What to do about a missing file.
struct MissingHelp<'p>(&'p Path);

impl fmt::Display for MissingHelp<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.0;
        let folder = path.parent().unwrap_or(Path::new("/"));
        write!(
            f,
            "there is no configuration at {}; nothing was created. To begin with the packaged one:\n  mkdir -p {}\n  soong-agent config template > {}\n  chmod go-w {}",
            path.display(),
            shell_quoted(folder),
            shell_quoted(path),
            shell_quoted(path),
        )
    }
}

/// A word for a POSIX shell. Paths that are not UTF-8 cannot be shown faithfully; they come out with replacement characters.
fn shell_quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,:@%".contains(c);
    if !text.is_empty() && !text.starts_with('-') && text.chars().all(plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
#[path = "load_tests.rs"]
mod tests;
