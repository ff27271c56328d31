//! What the answer of a run has to be, where its task says so (AGT-5).

use std::fmt;
use std::sync::Arc;

/// Says why a text is no answer; nothing if it is one.
type Judge = dyn Fn(&str) -> Option<String> + Send + Sync;

/// A rule for answers. A pure function, as everything that the machine decides with.
#[derive(Clone)]
pub struct AnswerRule(Arc<Judge>);

impl AnswerRule {
    /// So many answers are sent back before the run ends with what there is: each costs a whole request, and a model that cannot
    /// put it right when it is told what is wrong seldom can later.
    pub(super) const CORRECTIONS: u32 = 1;

    /// `judge` gets the text of an answer, and gives what is wrong with it, to be read behind a colon.
    #[must_use]
    pub fn new(judge: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(judge))
    }

    pub(super) fn fault_of(&self, answer: &str) -> Option<String> {
        (self.0)(answer)
    }
}

impl fmt::Debug for AnswerRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AnswerRule")
    }
}
