//! What a decision can be.

use agent_protocol::{DecisionKind, ErrorCode};

use super::scope::GrantKey;

/// The decision about a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// It may run.
    Allow {
        /// Why, for the timeline.
        because: String,
    },
    /// A person decides.
    Ask(Box<Question>),
    /// It may not run, whatever anybody answers.
    Deny {
        /// The code of its result.
        code: ErrorCode,
        /// Why, for the model.
        reason: String,
    },
}

impl Verdict {
    /// The verdict where nobody can be asked: a question becomes a denial (PRM-5), or, of a plain write, what the
    /// configuration says (PRM-11).
    #[must_use]
    pub fn unattended(self) -> Self {
        let Self::Ask(question) = self else { return self };
        match question.unattended {
            Unattended::Allow => Self::Allow {
                because: "nobody can be asked, and permissions.write_without_callback allows it".to_owned(),
            },
            Unattended::Deny(code) => Self::Deny {
                code,
                reason: format!(
                    "this needs somebody's permission, and nobody can be asked: {}",
                    question.reasons.join("; ")
                ),
            },
        }
    }
}

/// What becomes of a question where nobody can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unattended {
    /// It runs.
    Allow,
    /// It does not; the code of its result.
    Deny(ErrorCode),
}

/// What to ask.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// Why this asks, the gravest first; at least one. Paths and words of the model in them are escaped for prompts.
    pub reasons: Vec<String>,
    /// The call may do more than its target shows.
    pub dangerous: bool,
    /// What an allow for the session covers; absent where the answer counts once.
    pub grant: Option<GrantKey>,
    /// The same in words: "writes to files directly in src/ by code.edit_file".
    pub grant_covers: Option<String>,
    /// What core would answer.
    pub suggested: DecisionKind,
    /// What happens where nobody can be asked.
    pub unattended: Unattended,
}
