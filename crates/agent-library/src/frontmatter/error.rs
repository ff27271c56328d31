//! What is wrong with a block, and where.

/// Why a block is of no use. The place is that of the file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct FrontmatterError {
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// One short line without control characters.
    pub message: String,
}

impl FrontmatterError {
    /// What [`Document::unclosed`](super::Document::unclosed) means where frontmatter is needed.
    #[must_use]
    pub fn unclosed() -> Self {
        let message = "nothing closes the frontmatter; end it with a line `---`".to_owned();
        Self { line: 1, column: 1, message }
    }

    /// What a missing block means where frontmatter is needed.
    #[must_use]
    pub fn missing() -> Self {
        let message = "there is no frontmatter; begin the file with a line `---`".to_owned();
        Self { line: 1, column: 1, message }
    }
}
