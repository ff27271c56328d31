//! The closed list of kinds (MEM-02: a model's word for one is never part of a path unchecked).

use std::fmt;

use serde::Deserialize;

/// What a memory is about; also the name of the folder it lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub enum MemoryCategory {
    /// Who the user is, and what they always or never do.
    User,
    /// How the agent should behave.
    Feedback,
    /// Facts, names and addresses to be looked up again.
    Reference,
}

/// Why a word is no category.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{found:?} is no category of memories; use \"user\", \"feedback\" or \"reference\"")]
pub struct UnknownCategory {
    /// The word, cut where it is long.
    pub found: String,
}

impl MemoryCategory {
    /// All, in the order in which folders are read.
    pub const ALL: [Self; 3] = [Self::User, Self::Feedback, Self::Reference];

    /// The word in frontmatter, and the folder.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Feedback => "feedback",
            Self::Reference => "reference",
        }
    }

    /// Exactly one of the three words.
    ///
    /// # Errors
    /// Anything else, in any other case or with blanks around it, too.
    pub fn parse(text: &str) -> Result<Self, UnknownCategory> {
        let known = Self::ALL.into_iter().find(|category| category.as_str() == text);
        known.ok_or_else(|| UnknownCategory { found: text.chars().take(60).collect() })
    }

    /// MEM-4: what it says of the user must come from the user.
    pub(super) fn needs_the_user(self) -> bool {
        match self {
            Self::User | Self::Feedback => true,
            Self::Reference => false,
        }
    }
}

impl TryFrom<String> for MemoryCategory {
    type Error = UnknownCategory;

    fn try_from(text: String) -> Result<Self, UnknownCategory> {
        Self::parse(&text)
    }
}

impl fmt::Display for MemoryCategory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
