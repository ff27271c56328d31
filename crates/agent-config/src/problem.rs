//! What can be wrong with a configuration, and how it is said.

use std::fmt;

/// Everything that is wrong with one configuration, in the order of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigProblems {
    file: String,
    problems: Vec<Problem>,
    more: usize,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The sort of problem.
    pub kind: ProblemKind,
    /// The full key, as `agents.worker_pools[0].pool_id`. Empty where no key can be named (syntax errors).
    pub key: String,
    /// Where it stands. `None` for what did not come from a file, and for rules about keys the file does not hold.
    pub position: Option<Position>,
    /// What is wrong, as `found the string "8k"`. Never holds the value of a key that may be a secret.
    pub wrong: String,
    /// What would be right, as `a whole number of tokens such as 8192`.
    pub expected: Option<String>,
    /// The full name of the known key nearest to an unknown one.
    pub nearest: Option<String>,
}

/// The sort of a [`Problem`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProblemKind {
    /// The text is not TOML there.
    Syntax,
    /// The file says nothing at all.
    Empty,
    /// A key nobody knows.
    UnknownKey,
    /// A key that must be there is not.
    MissingKey,
    /// A value of the wrong type, out of range or of the wrong form.
    Value,
    /// Values that are right alone and wrong together.
    Conflict,
}

/// A place in a file. Both count from 1; columns are characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line.
    pub line: usize,
    /// Column.
    pub column: usize,
}

impl ConfigProblems {
    pub(crate) fn new(file: String, problems: Vec<Problem>, more: usize) -> Self {
        Self { file, problems, more }
    }

    /// The file, or what else the configuration came from, as given to the parser.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The problems, at least one, at most [`MAX_PROBLEMS`](crate::MAX_PROBLEMS).
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// How many further problems were found and left out.
    #[must_use]
    pub fn left_out(&self) -> usize {
        self.more
    }
}

impl std::error::Error for ConfigProblems {}

/// A headline, and one line per problem that begins with `file:line:column`.
impl fmt::Display for ConfigProblems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.problems.len() + self.more;
        let noun = if total == 1 { "problem" } else { "problems" };
        write!(f, "{} has {total} {noun}:", self.file)?;
        for problem in &self.problems {
            write!(f, "\n  {}", self.file)?;
            if let Some(Position { line, column }) = problem.position {
                write!(f, ":{line}:{column}")?;
            }
            write!(f, ": {problem}")?;
        }
        match self.more {
            0 => Ok(()),
            more => write!(f, "\n  … and {more} more"),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        match (self.kind, &self.expected) {
            (ProblemKind::Value, Some(expected)) => write!(f, "expected {expected}, {}", self.wrong)?,
            (ProblemKind::Conflict, Some(expected)) => write!(f, "{}; expected {expected}", self.wrong)?,
            (_, Some(expected)) => write!(f, "{}; {expected}", self.wrong)?,
            (_, None) => write!(f, "{}", self.wrong)?,
        }
        match &self.nearest {
            Some(nearest) => write!(f, "; the nearest known key is `{nearest}`"),
            None => Ok(()),
        }
    }
}
