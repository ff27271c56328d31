//! What happened in all worlds.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! tally {
    ($($name:ident),* $(,)?) => {
        /// How often each thing happened.
        #[derive(Default)]
        pub(super) struct Tally {
            $(pub(super) $name: AtomicU64,)*
        }

        impl fmt::Display for Tally {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let all = [$((stringify!($name), self.$name.load(Ordering::Relaxed))),*];
                for (at, (name, count)) in all.into_iter().enumerate() {
                    write!(f, "{}{count} {}", if at > 0 { ", " } else { "" }, name.replace('_', " "))?;
                }
                Ok(())
            }
        }
    };
}

tally! {
    worlds, lives, runs, cut_short, children, forks, dispatches, claims, tasks, commands, cancels, crashes, closes, store_faults,
    questions, late_answers, results, losses,
}

impl Tally {
    pub(super) fn count(&self, what: impl FnOnce(&Self) -> &AtomicU64) {
        self.add(what, 1);
    }

    pub(super) fn add(&self, what: impl FnOnce(&Self) -> &AtomicU64, count: usize) {
        what(self).fetch_add(count as u64, Ordering::Relaxed);
    }

    /// What has happened in no world.
    pub(super) fn lacks(&self) -> Option<&'static str> {
        let all = [
            ("worlds", &self.worlds),
            ("children", &self.children),
            ("forks", &self.forks),
            ("dispatches", &self.dispatches),
            ("claims", &self.claims),
            ("cancels", &self.cancels),
            ("crashes", &self.crashes),
            ("store faults", &self.store_faults),
            ("late answers", &self.late_answers),
        ];
        all.into_iter().find(|(_, count)| count.load(Ordering::Relaxed) == 0).map(|(what, _)| what)
    }
}
