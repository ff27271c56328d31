//! Whose instructions a file holds.

/// Whose instructions they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// The user's own, for every project.
    User,
    /// The project's, for the folder they lie in and below.
    Project,
}
