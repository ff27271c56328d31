//! A random world of several machines in one session: what happens next is picked at random, in any of them.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use agent_protocol::{AgentId, RunId, ToolCallId};

use super::session_children_testing::{Child, Report};
use super::session_figures_testing::{Hostility, SessionFigures};
use super::session_store_testing::SessionStore;
use super::world_testing::{Dice, Figures, Rates, World};
use crate::{Input, Path};

/// One machine, and whose it is.
pub(super) struct Machine {
    pub(super) agent: AgentId,
    pub(super) run: RunId,
    pub(super) world: World,
    /// Of a child: who made it.
    pub(super) child: Option<Child>,
    pub(super) begun: bool,
    /// Told to stop, and whether it has heard of it.
    pub(super) to_stop: bool,
    pub(super) stopped: bool,
}

impl Machine {
    fn is_over(&self) -> bool {
        self.world.finished.is_some()
    }
}

/// What may happen next.
enum Next {
    Message,
    Begin(usize),
    Stop(usize),
    GoOn(usize),
    Report(usize),
}

pub(super) struct SessionWorld {
    pub(super) number: u64,
    pub(super) dice: Dice,
    pub(super) store: Rc<RefCell<SessionStore>>,
    pub(super) root: AgentId,
    pub(super) hostility: Hostility,
    /// Messages of the user that wait.
    pub(super) messages: u64,
    /// Those at work, and the root's last one until its next message.
    pub(super) machines: Vec<Machine>,
    machines_made: u64,
    pub(super) reports: Vec<Report>,
    /// Children whose runs were cut short, which the root's next run is to hear of.
    pub(super) lost: Vec<AgentId>,
    /// Every child there was, and its run.
    pub(super) family: HashMap<AgentId, RunId>,
    /// What was run, of each run that is over.
    pub(super) executed: HashMap<RunId, HashSet<ToolCallId>>,
    /// Nothing can be stored any more.
    pub(super) store_gone: bool,
    pub(super) figures: SessionFigures,
}

impl SessionWorld {
    pub(super) fn new(number: u64, figures: SessionFigures) -> Self {
        let root = AgentId::parse("agent_root").unwrap();
        let mut dice = Dice::of_world(number);
        Self {
            number,
            store: Rc::new(RefCell::new(SessionStore::new(&root))),
            root,
            hostility: Hostility::roll(&mut dice),
            messages: 1 + dice.roll(4),
            dice,
            machines: Vec::new(),
            machines_made: 0,
            reports: Vec::new(),
            lost: Vec::new(),
            family: HashMap::new(),
            executed: HashMap::new(),
            store_gone: false,
            figures,
        }
    }

    /// Lives until all messages are worked off, and every run has ended.
    pub(super) fn live(mut self) -> SessionFigures {
        for _ in 0..20_000 {
            if self.is_over() && !self.store_comes_back() {
                break;
            }
            self.figures.steps += 1;
            self.step();
        }
        assert!(self.is_over(), "runs that do not end: {}", self.describe());
        self.check_end();
        self.figures.worlds += 1;
        self.figures
    }

    fn is_over(&self) -> bool {
        let idle = self.machines.iter().all(Machine::is_over) && self.reports.is_empty();
        idle && (self.messages == 0 || self.store_gone)
    }

    fn describe(&self) -> String {
        let machines = self.machines.iter().map(|machine| format!("{} {}", machine.run, machine.world.run.describe()));
        machines.collect::<Vec<_>>().join(", ")
    }

    fn step(&mut self) {
        if self.dice.one_in(self.hostility.crash) {
            return self.crash();
        }
        if !self.store_gone && self.dice.one_in(self.hostility.store_gone) {
            return self.lose_store();
        }
        if self.dice.one_in(self.hostility.cancel)
            && let Some(at) = self.machines.iter().position(|machine| machine.child.is_none() && !machine.is_over())
        {
            self.figures.cancels += 1;
            return self.act(at, |world, figures| world.feed(Input::Cancel, figures));
        }
        if self.dice.one_in(self.hostility.timeout)
            && let Some(machine) = self.machines.iter_mut().find(|machine| machine.child.is_some() && !machine.to_stop)
        {
            machine.to_stop = true;
            self.figures.stopped_alone += 1;
        }
        let mut open = self.open();
        match self.dice.pick(&mut open) {
            Some(Next::Message) => self.message(),
            Some(Next::Begin(at)) => {
                self.machines[at].begun = true;
                self.act(at, |world, figures| world.begin(None, figures));
            }
            Some(Next::Stop(at)) => {
                self.machines[at].stopped = true;
                self.act(at, |world, figures| world.feed(Input::Cancel, figures));
            }
            Some(Next::GoOn(at)) => self.act(at, World::go_on),
            Some(Next::Report(at)) => self.report(at),
            None => panic!("stuck: nothing is pending: {}", self.describe()),
        }
    }

    fn open(&self) -> Vec<Next> {
        let mut open = Vec::new();
        for (at, machine) in self.machines.iter().enumerate().filter(|(_, machine)| !machine.is_over()) {
            if !machine.begun {
                open.push(Next::Begin(at));
            } else if !machine.world.pending.is_empty() {
                open.push(Next::GoOn(at));
            }
            if machine.to_stop && !machine.stopped {
                open.push(Next::Stop(at));
            }
        }
        open.extend((0..self.reports.len()).map(Next::Report));
        let root_idles = self.machines.iter().all(|machine| machine.child.is_some() || machine.is_over());
        if root_idles && self.messages > 0 && !self.store_gone {
            open.push(Next::Message);
        }
        open
    }

    /// Something happens in one machine, and what follows from it elsewhere.
    pub(super) fn act(&mut self, at: usize, what: impl FnOnce(&mut World, &mut Figures)) {
        let before = self.store.borrow().session_active().cloned();
        what(&mut self.machines[at].world, &mut self.figures.machines);
        self.check_machine(at, before.as_ref());
        self.start_children(at);
        self.pass_on_cancel(at);
        if self.machines[at].is_over() {
            self.end(at);
        }
    }

    /// A machine that stores into the session.
    pub(super) fn machine(&mut self, agent: AgentId, path: Path, child: Option<Child>) -> Machine {
        self.machines_made += 1;
        let number = self.number * 1000 + self.machines_made;
        let rates = Rates { failed_commit: self.failed_commit(), ..self.hostility.machines };
        let mut world = World::new(Dice::of_world(number), path, number, rates);
        let run = world.run.run_id.clone();
        self.store.borrow_mut().add_run(&run, &agent);
        let (store, own) = (Rc::clone(&self.store), run.clone());
        world.on_commit = Box::new(move |writes| store.borrow_mut().commit(&own, writes));
        if child.is_none() {
            world.tools = ["look", "write", "child", "child", "child", "no_such_tool"];
        }
        Machine { agent, run, world, child, begun: false, to_stop: false, stopped: false }
    }

    /// How often a commit fails: one in so many.
    pub(super) fn failed_commit(&self) -> u64 {
        if self.store_gone { 1 } else { self.hostility.machines.failed_commit }
    }

    /// A run is over. The root's stays until the next one begins, since children may still report to it.
    fn end(&mut self, at: usize) {
        self.check_run_end(at);
        let machine = &mut self.machines[at];
        machine.world.leave(&mut self.figures.machines);
        self.executed.insert(machine.run.clone(), machine.world.executed.clone());
        if machine.child.is_some() {
            let machine = self.machines.swap_remove(at);
            return self.end_child(machine);
        }
        let run = machine.run.clone();
        for child in self.machines.iter().filter(|machine| machine.child.as_ref().is_some_and(|child| child.by == run))
        {
            assert!(child.to_stop, "{run} has ended and its child {} was not told to stop", child.agent);
            self.figures.left_behind += 1;
        }
    }
}
