//! Children in a random session: a call of the root's makes one, and the child's end is the call's outcome.

use std::sync::Arc;

use agent_protocol::{AgentId, ContentBlock, EndReason, ModelMessage, NodeId, Object, RunId, ToolCallId};

use super::session_world_testing::{Machine, SessionWorld};
use super::world_testing::{Pending, Sent, World, error};
use crate::{Input, Outcome, Path, ResultKind, Target};

/// What made a child.
pub(super) struct Child {
    /// The run that made the call.
    pub(super) by: RunId,
    pub(super) call: ToolCallId,
    pub(super) seed: Seed,
    /// Whether its first request was looked at.
    pub(super) seen: bool,
}

/// What a child begins with.
pub(super) enum Seed {
    Fresh,
    /// The parent's conversation up to this node, and the request that was made of it.
    Inherited {
        node: NodeId,
        asked: Option<Box<Asked>>,
    },
}

/// A request, and what besides the path it depends on.
pub(super) struct Asked {
    messages: Vec<Arc<ModelMessage>>,
    depends_on: String,
}

impl Asked {
    /// The request that was made at this node.
    fn at(world: &World, node: &NodeId) -> Option<Box<Self>> {
        let sent = world.sent.iter().rev().find(|sent| sent.built.last_node_id.as_ref() == Some(node))?;
        Some(Box::new(Self { messages: history(sent).to_vec(), depends_on: depends_on(world, sent) }))
    }
}

/// The messages without those that are no history.
fn history(sent: &Sent) -> &[Arc<ModelMessage>] {
    &sent.request.messages[..sent.request.messages.len() - sent.built.tail.len()]
}

/// What is left out, shortened or moved in a request.
fn depends_on(world: &World, sent: &Sent) -> String {
    let built = &sent.built;
    let border = (&built.compaction_node_id, &built.first_kept_node_id, &built.pinned_node_ids, built.turns_out);
    let short = (built.squeeze, built.results_shortened);
    format!("{border:?} {short:?} {:?} {}", world.settings.in_system, world.settings.messages)
}

/// The end of a call that makes a child.
pub(super) struct Report {
    /// The run that waits for it.
    to: RunId,
    call: ToolCallId,
    /// Whose end it is; none where there was no child.
    of: Option<AgentId>,
    outcome: Outcome,
}

/// The name of the tool that is called.
fn tool<'a>(path: &'a Path, call: &ToolCallId) -> &'a str {
    let content = path.nodes().iter().rev().flat_map(|node| node.message.content.iter());
    &content.filter_map(ContentBlock::as_tool_call).find(|known| known.tool_call_id == *call).unwrap().name
}

fn outcome(kind: ResultKind, text: String) -> Outcome {
    let failed = (kind != ResultKind::Ok).then(|| error(&text));
    Outcome {
        kind,
        content: vec![ContentBlock::text(text)],
        error: failed,
        metadata: Object::new(),
        summary: None,
        after: Vec::new(),
    }
}

impl SessionWorld {
    /// AGT-1: the root's calls of `child` make one each, at once; a child's are refused.
    pub(super) fn start_children(&mut self, at: usize) {
        let parent = &mut self.machines[at];
        let (path, to) = (parent.world.run.path(), parent.run.clone());
        let is_child = |next: &mut Pending| matches!(next, Pending::Execute(call) if tool(path, call) == "child");
        for next in parent.world.pending.extract_if(.., is_child).collect::<Vec<_>>() {
            let Pending::Execute(call) = next else { continue };
            let cannot_store = self.dice.one_in(self.failed_commit());
            if self.machines[at].child.is_some() || cannot_store {
                let outcome = outcome(ResultKind::Failed, "no child was made".to_owned());
                self.reports.push(Report { to: to.clone(), call, of: None, outcome });
                self.figures.refused += 1;
            } else {
                self.make_child(at, to.clone(), call);
            }
        }
    }

    fn make_child(&mut self, at: usize, by: RunId, call: ToolCallId) {
        let agent = AgentId::parse(&format!("agent_c{}", self.family.len())).unwrap();
        let parent = &self.machines[at].world;
        let (seed, path, settings) = if self.dice.one_in(2) {
            self.figures.fresh += 1;
            self.store.borrow_mut().add_agent(&agent, None);
            (Seed::Fresh, Path::new(), None)
        } else {
            self.figures.inherited += 1;
            let node = parent.run.path().node_before_reply_with(&call).unwrap().clone();
            let mut store = self.store.borrow_mut();
            store.add_agent(&agent, Some(&node));
            let path = Path::from_nodes(store.chain(Some(&node)));
            assert!(path.unanswered().is_empty(), "a child inherits an open call");
            let settings = (parent.settings.fixed, parent.settings.messages);
            (Seed::Inherited { asked: Asked::at(parent, &node), node }, path, Some(settings))
        };
        let child = Child { by, call, seed, seen: false };
        let mut machine = self.machine(agent.clone(), path, Some(child));
        if let Some((fixed, messages)) = settings {
            (machine.world.settings.fixed, machine.world.settings.messages) = (fixed, messages);
        }
        self.family.insert(agent, machine.run.clone());
        self.machines.push(machine);
        let living = self.machines.iter().filter(|machine| machine.child.is_some()).count();
        self.figures.at_once = self.figures.at_once.max(living);
    }

    /// Where a call is aborted, the child that it made is told to stop.
    pub(super) fn pass_on_cancel(&mut self, at: usize) {
        let parent = &self.machines[at];
        let (run, aborted) = (parent.run.clone(), parent.world.aborted.clone());
        if aborted.is_empty() {
            return;
        }
        for machine in &mut self.machines {
            let Some(child) = machine.child.as_ref().filter(|child| child.by == run) else { continue };
            if !machine.to_stop && aborted.contains(&format!("{:?}", Target::Call(child.call.clone()))) {
                machine.to_stop = true;
                self.figures.stopped_with_parent += 1;
            }
        }
    }

    /// A child is over: its end is on its way to whoever called.
    pub(super) fn end_child(&mut self, machine: Machine) {
        let Machine { agent, world, child, .. } = machine;
        let Some(Child { by, call, .. }) = child else { return };
        let (kind, text) = match world.finished {
            Some(EndReason::Completed) => (ResultKind::Ok, world.run.answer().unwrap()),
            Some(EndReason::AbortedStreaming | EndReason::AbortedTools) => (ResultKind::Aborted, "stopped".to_owned()),
            _ => (ResultKind::Failed, "it failed".to_owned()),
        };
        let outcome = outcome(kind, format!("{agent}: {text}"));
        self.reports.push(Report { to: by, call, of: Some(agent), outcome });
    }

    /// A child's end comes to the run that waits for it, or to one that waits no more.
    pub(super) fn report(&mut self, at: usize) {
        let Report { to, call, of, outcome } = self.reports.swap_remove(at);
        let Some(at) = self.machines.iter().position(|machine| machine.run == to) else {
            self.figures.late += usize::from(of.is_some());
            return;
        };
        let waits = self.machines[at].world.finished.is_none();
        match (&of, outcome.kind) {
            (None, _) => {}
            (Some(_), _) if !waits => self.figures.late += 1,
            (Some(_), ResultKind::Ok) => self.figures.answers += 1,
            (Some(_), _) => self.figures.failures += 1,
        }
        assert_eq!(self.results_of(at, of.as_ref()), 0, "an end that was reported before");
        self.act(at, |world, figures| {
            world.store_held(figures);
            world.feed(Input::CallDone { call, outcome: Box::new(outcome) }, figures);
        });
        // The root's machine stays where it is; a child's may be over, and was told of no child.
        if of.is_some() && !self.machines[at].world.store_failed {
            let told = self.results_of(at, of.as_ref());
            assert_eq!(told, usize::from(waits), "a child's end is reported once, to a run that waits for it");
        }
    }

    /// Results on a machine's path that are this child's end.
    fn results_of(&self, at: usize, child: Option<&AgentId>) -> usize {
        let Some(child) = child else { return 0 };
        let head = format!("{child}: ");
        let blocks = self.machines[at].world.run.path().nodes().iter().flat_map(|node| node.message.content.iter());
        let results = blocks.filter_map(|block| match block {
            ContentBlock::ToolResult(result) => result.content.first()?.as_text(),
            _ => None,
        });
        results.filter(|text| text.starts_with(&head)).count()
    }

    /// AGT-2: a fresh child's first request holds nothing of its parent's; an inherited one begins as the request did whose answer makes
    /// the call, where nothing else was left out or shortened.
    pub(super) fn check_first_request(&mut self, at: usize) {
        let machine = &mut self.machines[at];
        let (Some(child), Some(sent)) = (&mut machine.child, machine.world.sent.first()) else { return };
        if std::mem::replace(&mut child.seen, true) {
            return;
        }
        match &child.seed {
            Seed::Fresh => assert_eq!(history(sent).len(), 1, "a fresh child sees more than its task"),
            Seed::Inherited { node, asked } => {
                assert!(machine.world.run.path().nodes().iter().any(|known| known.node_id == *node));
                let Some(asked) = asked.as_ref().filter(|asked| asked.depends_on == depends_on(&machine.world, sent))
                else {
                    return;
                };
                assert!(history(sent).starts_with(&asked.messages), "a child's request does not begin as its parent's");
                self.figures.compared += 1;
            }
        }
    }
}
