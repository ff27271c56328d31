//! Why rules cannot be built.

use std::path::PathBuf;

/// Why the rules cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum RulesError {
    /// A place is relative or not normalised; it could not be compared with resolved paths.
    #[error("the {place} folder {} is not an absolute, resolved path", path.display())]
    Place {
        /// Which place.
        place: &'static str,
        /// What was given.
        path: PathBuf,
    },
    /// A pattern without a name.
    #[error("the sensitive path {pattern:?} names nothing")]
    Empty {
        /// The pattern.
        pattern: String,
    },
    /// A pattern with `.` or `..`, which no resolved path has.
    #[error("the sensitive path {pattern:?} has a `.` or `..` in it and would never match")]
    Dots {
        /// The pattern.
        pattern: String,
    },
    /// `~name/…`: nobody here knows other people's homes.
    #[error("the sensitive path {pattern:?} names another user's home; write the folder out")]
    OtherHome {
        /// The pattern.
        pattern: String,
    },
    /// Not a glob.
    #[error("the sensitive path {pattern:?} is not a valid pattern")]
    Glob {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        source: globset::Error,
    },
    /// Each pattern is fine, all together are too much.
    #[error("the sensitive paths together cannot be compiled")]
    Set {
        /// What is too much.
        source: globset::Error,
    },
}
