//! What the owner of a random session does: it begins the root agent's runs, and the next one takes over where a process or a store
//! has failed.

use std::collections::HashSet;

use agent_protocol::{AgentId, ToolCallId};

use super::session_world_testing::SessionWorld;
use crate::{Calibration, CompactionPlan, Path, notes};

/// What one run of the root agent leaves to the next.
#[derive(Default)]
struct Carried {
    path: Path,
    calibration: Calibration,
    compaction_floor: u64,
    open: Option<CompactionPlan>,
    /// Where the path was read from the store.
    started: Option<HashSet<ToolCallId>>,
}

impl SessionWorld {
    /// The user's next message.
    pub(super) fn message(&mut self) {
        self.messages -= 1;
        self.figures.messages += 1;
        self.end_unsaid();
        let last = self.machines.iter().position(|machine| machine.child.is_none());
        let last = last.map(|at| self.machines.swap_remove(at).world).filter(|world| !world.store_failed);
        let carried = match last {
            Some(world) => {
                let (compaction_floor, open) =
                    (world.run.compaction_floor(), world.run.open_compaction().map(|(_, plan)| plan.clone()));
                let (path, calibration) = world.run.into_path();
                Carried { path, calibration, compaction_floor, open, started: None }
            }
            None => self.loaded(),
        };
        let mut machine = self.machine(self.root.clone(), carried.path, None);
        machine.begun = true;
        machine.world.run.calibration = carried.calibration;
        let run = machine.world.run.with_compaction_floor(carried.compaction_floor);
        let run = if let Some(started) = carried.started { run.with_started_calls(started) } else { run };
        let lost: Vec<_> = std::mem::take(&mut self.lost).iter().map(AgentId::to_string).collect();
        machine.world.run = run.with_lost_children(lost.clone());
        self.machines.push(machine);
        let at = self.machines.len() - 1;
        self.act(at, |world, figures| world.begin(carried.open, figures));
        self.check_told_of_lost(at, &lost);
    }

    /// The run that follows a process that ended says which children were lost with it.
    fn check_told_of_lost(&mut self, at: usize, lost: &[String]) {
        let world = &self.machines[at].world;
        if lost.is_empty() || world.store_failed {
            return;
        }
        let note = notes::lost_children(lost);
        let content = world.run.path().nodes().iter().flat_map(|node| node.message.content.iter());
        let told = content.filter_map(|block| block.as_text()).filter(|text| text.contains(&note)).count();
        assert_eq!(told, 1, "{lost:?} are to be told of once");
        self.figures.lost += lost.len();
    }

    /// What a later owner finds.
    fn loaded(&self) -> Carried {
        let store = self.store.borrow();
        let path = Path::from_nodes(store.chain(store.session_active()));
        Carried { path, started: Some(store.started_calls(&self.root)), ..Carried::default() }
    }

    // --- what befalls the session ---

    pub(super) fn lose_store(&mut self) {
        self.store_gone = true;
        self.figures.store_gone += 1;
        for machine in &mut self.machines {
            machine.world.rates.failed_commit = 1;
        }
    }

    /// Where nothing could be stored, somebody may make room and go on.
    pub(super) fn store_comes_back(&mut self) -> bool {
        let comes_back = self.store_gone && self.dice.one_in(2);
        if comes_back {
            self.take_over();
        }
        comes_back
    }

    /// The process ends.
    pub(super) fn crash(&mut self) {
        self.figures.crashes += 1;
        self.take_over();
    }

    /// Another process goes on.
    fn take_over(&mut self) {
        self.figures.store_back += usize::from(std::mem::take(&mut self.store_gone));
        self.reports.clear();
        for machine in std::mem::take(&mut self.machines) {
            self.executed.insert(machine.run, machine.world.executed);
        }
        self.end_unfinished();
        // Somebody looks at what is left.
        self.messages = self.messages.max(1);
    }

    /// Ends every run that its machine did not end, those of children first.
    fn end_unfinished(&mut self) {
        let mut store = self.store.borrow_mut();
        for run in store.unfinished() {
            store.end_run(&run);
            self.figures.ended_by_owner += 1;
            self.lost.extend(self.family.iter().find(|(_, known)| **known == run).map(|(agent, _)| agent.clone()));
        }
        assert!(store.unfinished().is_empty());
    }

    /// Ends the runs whose last commit failed.
    pub(super) fn end_unsaid(&mut self) {
        let mut store = self.store.borrow_mut();
        for run in self.executed.keys() {
            self.figures.ended_by_owner += usize::from(store.end_run(run));
        }
    }
}
