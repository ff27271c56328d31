//! Whether a reply has ended. The protocol says it with a reason on the last event that has a choice; servers say it on every
//! event, or never.

use crate::dialect::StreamState;

/// What the events have said of the end so far.
#[derive(Debug, Default)]
pub(super) struct Ending {
    /// The last reason.
    reason: Option<String>,
    /// Content came without a reason: this server does not put one on every event.
    plain: bool,
    /// Content came after a reason: this server does.
    noisy: bool,
    /// Nothing but counts and the end mark can follow.
    sure: bool,
}

impl Ending {
    /// An event with a choice: its reason, whether it brought content, and whether any has come up to it.
    pub(super) fn choice(&mut self, reason: Option<&str>, content: bool, any: bool) {
        if content {
            self.noisy |= self.reason.is_some();
            self.plain |= reason.is_none();
            self.sure = false;
        }
        if let Some(reason) = reason {
            self.reason = Some(reason.to_owned());
            self.sure |= !self.noisy && if content { self.plain } else { any };
        }
    }

    /// Counts without a choice: what comes after the last content.
    pub(super) fn counts(&mut self) {
        self.sure |= self.reason.is_some();
    }

    /// Whether a reason stands, and no server's habit speaks against it. What follows cannot spoil the reply any more, unless
    /// it is an error.
    pub(super) fn is_over(&self) -> bool {
        self.reason.is_some() && !self.noisy
    }

    pub(super) fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    pub(super) fn into_reason(self) -> Option<String> {
        self.reason
    }

    pub(super) fn state(&self, has_content: bool) -> StreamState {
        match (&self.reason, has_content) {
            (Some(_), _) if self.sure => StreamState::Finished,
            (Some(_), _) => StreamState::MaybeFinished,
            (None, true) => StreamState::Content,
            (None, false) => StreamState::Waiting,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Events as reason and whether they bring content; none are counts.
    #[track_caller]
    fn check(events: &[Option<(&str, bool)>], expected: StreamState) {
        let (mut ending, mut any) = (Ending::default(), false);
        for event in events {
            match event {
                None => ending.counts(),
                Some((reason, content)) => {
                    any |= content;
                    ending.choice(Some(*reason).filter(|reason| !reason.is_empty()), *content, any);
                }
            }
        }
        assert_eq!(ending.state(any), expected, "{events:?}");
    }

    /// PRV-7: a pause ends a reply only where its end is certain.
    #[test]
    fn ends_are_certain_or_not() {
        use StreamState::{Content, Finished, MaybeFinished, Waiting};
        let (text, stop, both) = (Some(("", true)), Some(("stop", false)), Some(("stop", true)));
        check(&[], Waiting);
        check(&[Some(("", false))], Waiting);
        check(&[text], Content);
        check(&[text, stop], Finished);
        check(&[text, both], Finished);
        check(&[text, stop, None], Finished);
        check(&[both], MaybeFinished);
        check(&[both, None], Finished);
        check(&[both, both], MaybeFinished);
        check(&[both, both, stop], MaybeFinished);
        check(&[both, both, None], Finished);
        check(&[stop], MaybeFinished);
        check(&[stop, both, stop], MaybeFinished);
        check(&[text, stop, text], MaybeFinished);
    }
}
