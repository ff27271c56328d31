//! How hostile a random session is, and what happened in all of them.

use super::world_testing::{Dice, Figures, Rates};

/// What happened in all worlds.
#[derive(Default, Debug)]
pub(super) struct SessionFigures {
    pub(super) worlds: usize,
    pub(super) steps: usize,
    pub(super) messages: usize,
    pub(super) fresh: usize,
    pub(super) inherited: usize,
    /// Children that could not be made, and calls of children for children.
    pub(super) refused: usize,
    /// Most children that lived at once.
    pub(super) at_once: usize,
    /// First requests of children that were compared with the parent's, message by message.
    pub(super) compared: usize,
    /// Ends that reached the parent's run, by whether they were answers, and those that came when it was over.
    pub(super) answers: usize,
    pub(super) failures: usize,
    pub(super) late: usize,
    pub(super) cancels: usize,
    /// Children that were told to stop: with their parent, or alone.
    pub(super) stopped_with_parent: usize,
    pub(super) stopped_alone: usize,
    /// Children that still lived when their parent's run was over.
    pub(super) left_behind: usize,
    pub(super) crashes: usize,
    /// Runs that a later owner ended.
    pub(super) ended_by_owner: usize,
    /// Children that were lost so, and that the root's next run was told of.
    pub(super) lost: usize,
    pub(super) store_gone: usize,
    pub(super) store_back: usize,
    pub(super) summaries_of_root: usize,
    pub(super) summaries_of_children: usize,
    pub(super) machines: Figures,
}

/// How hostile a session is: one in `n` steps.
pub(super) struct Hostility {
    pub(super) cancel: u64,
    /// A child is stopped alone, as by a time limit.
    pub(super) timeout: u64,
    pub(super) crash: u64,
    /// Nothing can be stored from then on.
    pub(super) store_gone: u64,
    pub(super) machines: Rates,
}

impl Hostility {
    pub(super) fn roll(dice: &mut Dice) -> Self {
        let mut hostile = |n: u64| if dice.one_in(2) { n } else { u64::MAX };
        let (cancel, timeout, crash, store_gone) = (hostile(60), hostile(80), hostile(120), hostile(200));
        let failed_commit = hostile(80);
        let machines = Rates {
            failed_commit,
            broken_stream: 4 + dice.roll(40),
            overflow: 4 + dice.roll(40),
            cut: if dice.one_in(5) { 4 } else { 24 },
            ..Rates::CALM
        };
        Self { cancel, timeout, crash, store_gone, machines }
    }
}
