//! When it is time to find out what is to be remembered (MEM-3).

use agent_protocol::ExtractionReason;

use super::memories::MemorySettings;

/// Most messages that are looked at to find out whether there is something to do.
pub(super) const MOST_WAITING: u32 = 1_000;

/// What a user has said since a place, in short.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct UserMessages {
    /// How many messages, as far as they were looked at.
    pub(super) count: u64,
    /// Their estimated tokens.
    pub(super) tokens: u64,
    /// The place of the last one.
    pub(super) last_node_seq: Option<u64>,
}

/// Why it is done now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    /// Somebody asked for it.
    Wish,
    /// So many new messages.
    Messages,
    /// So much new text.
    Tokens,
    /// Quiet, and something new at all.
    Idle,
}

impl Reason {
    /// As events say it.
    pub(super) fn told(self) -> ExtractionReason {
        match self {
            Self::Wish => ExtractionReason::ExplicitWish,
            Self::Messages => ExtractionReason::MessageBacklog,
            Self::Tokens => ExtractionReason::TokenBacklog,
            Self::Idle => ExtractionReason::Idle,
        }
    }
}

/// What failed and is not tried again by the same reason as long as nothing new is said, so that a broken server is not asked all
/// the time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Tried {
    /// Where the backlog ended.
    last: Option<u64>,
    reasons: Vec<Reason>,
    /// Somebody else changed a memory meanwhile, once.
    conflict: bool,
}

impl Tried {
    /// What of it holds for a backlog that ends here.
    fn about(&self, last: Option<u64>) -> Option<&Self> {
        (self.last == last).then_some(self)
    }

    fn begin(&mut self, last: Option<u64>) {
        if self.last != last {
            *self = Self { last, ..Self::default() };
        }
    }

    /// It failed.
    pub(super) fn failed(&mut self, last: Option<u64>, reason: Reason) {
        self.begin(last);
        self.reasons.push(reason);
    }

    /// A memory was changed meanwhile; whether it is worth another try at once.
    pub(super) fn conflicted(&mut self, last: Option<u64>, reason: Reason) -> bool {
        self.begin(last);
        let is_first = !std::mem::replace(&mut self.conflict, true);
        if !is_first {
            self.reasons.push(reason);
        }
        is_first
    }

    /// Whether a reason is one to try, with a backlog that ends here.
    pub(super) fn allows(&self, last: Option<u64>, reason: Reason) -> bool {
        self.about(last).is_none_or(|tried| !tried.reasons.contains(&reason))
    }

    /// Whether there is nothing to be known here.
    pub(super) fn is_empty(&self) -> bool {
        self.last.is_none()
    }
}

/// What is known of a backlog.
#[derive(Debug, Clone, Copy)]
pub(super) struct Backlog {
    pub(super) new: UserMessages,
    /// A wish is among the messages.
    pub(super) wish: bool,
    /// It has been quiet for long enough.
    pub(super) quiet: bool,
}

impl Backlog {
    /// The first reason that holds, of those that may be tried.
    pub(super) fn reason(self, settings: &MemorySettings, tried: &Tried) -> Option<Reason> {
        let UserMessages { count, tokens, last_node_seq } = self.new;
        let holds = [
            (Reason::Wish, self.wish),
            (Reason::Messages, count >= settings.every_messages.min(u64::from(MOST_WAITING))),
            (Reason::Tokens, tokens >= settings.every_tokens),
            (Reason::Idle, self.quiet),
        ];
        let mut holding = holds.into_iter().filter(|(_, holds)| *holds && count > 0).map(|(reason, _)| reason);
        holding.find(|reason| tried.allows(last_node_seq, *reason))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn settings() -> MemorySettings {
        MemorySettings {
            home: "/h".into(),
            memory_dir: "/h/memory".into(),
            project: "/p".to_owned(),
            categories: Vec::new(),
            every_messages: 4,
            every_tokens: 100,
            idle: Duration::from_secs(1),
            catalog_tokens: 0,
            recall_top_k: 1,
            recall_tokens: 1,
        }
    }

    fn backlog(count: u64, tokens: u64, wish: bool, quiet: bool) -> Backlog {
        Backlog { new: UserMessages { count, tokens, last_node_seq: (count > 0).then_some(count) }, wish, quiet }
    }

    /// MEM-3: each of the four, the most telling first; nothing without something new.
    #[test]
    fn reasons() {
        for (backlog, expected) in [
            (backlog(1, 5, false, false), None),
            (backlog(1, 5, true, true), Some(Reason::Wish)),
            (backlog(4, 5, false, true), Some(Reason::Messages)),
            (backlog(3, 100, false, true), Some(Reason::Tokens)),
            (backlog(3, 99, false, true), Some(Reason::Idle)),
            (backlog(0, 0, true, true), None),
        ] {
            assert_eq!(backlog.reason(&settings(), &Tried::default()), expected, "{backlog:?}");
        }
    }

    /// What failed waits for something new, or for another reason.
    #[test]
    fn a_failure_is_not_repeated_at_once() {
        let mut tried = Tried::default();
        let now = backlog(2, 5, true, false);
        tried.failed(Some(2), Reason::Wish);
        assert_eq!(now.reason(&settings(), &tried), None);
        assert_eq!(Backlog { quiet: true, ..now }.reason(&settings(), &tried), Some(Reason::Idle));
        tried.failed(Some(2), Reason::Idle);
        assert_eq!(Backlog { quiet: true, ..now }.reason(&settings(), &tried), None);
        assert_eq!(backlog(3, 7, true, false).reason(&settings(), &tried), Some(Reason::Wish), "something new");
    }

    /// MEM-06: after a conflict it is tried again, once.
    #[test]
    fn a_conflict_is_worth_one_more_try() {
        let mut tried = Tried::default();
        let now = backlog(2, 5, true, false);
        assert!(tried.conflicted(Some(2), Reason::Wish));
        assert_eq!(now.reason(&settings(), &tried), Some(Reason::Wish));
        assert!(!tried.conflicted(Some(2), Reason::Wish));
        assert_eq!(now.reason(&settings(), &tried), None);
    }
}
