//! Counting.

use std::env;

/// What a test has done and found.
#[derive(Debug)]
pub(crate) struct Tally {
    kind: String,
    rounds: usize,
    faults: usize,
    losses: Vec<String>,
}

impl Tally {
    pub(crate) fn new(kind: impl Into<String>) -> Self {
        Self { kind: kind.into(), rounds: 0, faults: 0, losses: Vec::new() }
    }

    /// Something is about to be tried.
    pub(crate) fn round(&mut self) {
        agent_testkit::going_on();
        self.rounds += 1;
    }

    /// A fault has been injected.
    pub(crate) fn fault(&mut self) {
        self.faults += 1;
    }

    /// Something that must be so. If it is not, that is a loss of this round.
    pub(crate) fn holds(&mut self, so: bool, otherwise: impl FnOnce() -> String) {
        if !so {
            self.lost([otherwise()]);
        }
    }

    pub(crate) fn lost(&mut self, losses: impl IntoIterator<Item = String>) {
        for loss in losses {
            // What is gone stays gone: it counts once.
            if !self.losses.iter().any(|known| known.ends_with(&loss)) {
                self.losses.push(format!("round {}: {loss}", self.rounds));
            }
        }
    }

    pub(crate) fn faults(&self) -> usize {
        self.faults
    }

    /// Says what there was, and fails if something was lost. `more` stands behind the kind.
    #[track_caller]
    pub(crate) fn end(self, more: &str) {
        let Self { kind, rounds, faults, losses } = self;
        let more = if more.is_empty() { String::new() } else { format!(" ({more})") };
        println!("faults: {kind}{more}: {rounds} rounds, {faults} faults, {} losses", losses.len());
        assert!(losses.is_empty(), "{kind}: {} losses:\n{}", losses.len(), losses.join("\n"));
    }
}

/// How many rounds a loop makes: what the environment says, otherwise as many as fit into an ordinary test run.
pub(crate) fn rounds(usual: usize) -> usize {
    let given = env::var("SOONG_AGENT_FAULT_ROUNDS").ok();
    given.map_or(usual, |rounds| rounds.parse().expect("SOONG_AGENT_FAULT_ROUNDS is a number"))
}
