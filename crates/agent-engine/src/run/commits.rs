//! Which commits may still fail, and what is taken back when one does (RUN-21).

use super::{CommitNo, Effect, Target};

/// The numbers given so far, and the steps whose commit may not be stored yet.
///
/// A commit is awaited before the next input, except where it may wait for the next step's: then both may still fail.
#[derive(Debug, Default)]
pub(super) struct Commits {
    last: CommitNo,
    open: Vec<Step>,
}

/// A step that asked for a commit.
#[derive(Debug)]
struct Step {
    commit: CommitNo,
    /// Nodes of the path before it.
    path_len: usize,
    opened: Vec<Target>,
    may_wait: bool,
}

/// What a failed commit takes back, together with those after it.
#[derive(Debug)]
pub(super) struct Failed {
    /// Nodes of the path that are stored.
    pub(super) path_len: usize,
    /// What was asked for after it, and so never began.
    pub(super) opened: Vec<Target>,
}

impl Commits {
    /// The number of the next commit.
    pub(super) fn next(&self) -> CommitNo {
        self.last.next()
    }

    /// Notes a step that began at a path of this length, by its effects.
    pub(super) fn note(&mut self, commit: CommitNo, path_len: usize, effects: &[Effect]) {
        if !self.open.last().is_some_and(|step| step.may_wait) {
            self.open.clear();
        }
        self.last = commit;
        self.open.push(Step {
            commit,
            path_len,
            opened: effects.iter().filter_map(Effect::opens).collect(),
            may_wait: Effect::commit_may_wait(effects),
        });
    }

    /// Takes back this commit and all after it; `None` if it was stored long ago, or never asked for.
    pub(super) fn fail(&mut self, commit: CommitNo) -> Option<Failed> {
        let first = self.open.iter().position(|step| step.commit == commit)?;
        let path_len = self.open[first].path_len;
        let opened = self.open.drain(first..).flat_map(|step| step.opened).collect();
        self.open.clear();
        Some(Failed { path_len, opened })
    }

    #[cfg(test)]
    pub(super) fn last(&self) -> CommitNo {
        self.last
    }
}
