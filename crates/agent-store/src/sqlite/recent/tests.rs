use agent_protocol::{
    AgentId, AgentType, ContentBlock, EndReason, NodeDraft, NodeId, NodeType, Object, Role, RunId, RunPatch, RunStatus,
    SessionId, Usage,
};
use rusqlite::{Connection, StatementStatus};
use std::time::Duration;

use super::*;
use crate::rows::RecentWords;
use crate::settings::Clock;
use crate::sqlite::database::{Ground, Opened, open_to_write};
use crate::sqlite::fault::Site;
use crate::sqlite::ownership::Claimant;
use crate::sqlite::{agents, apply, said};
use crate::write::{Commit, NewRun, NewSession, Write};

/// A session that one message after another goes on with, each in a process of its own.
struct Long {
    conn: Connection,
    claimant: Claimant,
    session: SessionId,
    agent: AgentId,
    /// Of the last node.
    leaf: Option<NodeId>,
    nodes: u64,
    /// The kept part of the next summary begins here.
    message_before: Option<NodeId>,
    said: u64,
    /// What the connection stands on.
    _ground: Ground,
}

impl Long {
    fn new(name: &str) -> Self {
        let folder = agent_testkit::scratch(name);
        let site = Site::new(folder.join("sessions.sqlite"), Duration::ZERO);
        let Opened { conn, ground } = open_to_write(&site, &Clock::system()).unwrap();
        let claimant = Claimant::new(folder.join("sessions"), Clock::system());
        let (session, agent) = (SessionId::parse("sess_long").unwrap(), AgentId::parse("agent_long").unwrap());
        let new = NewSession {
            session_id: session.clone(),
            cwd: "/p".to_owned(),
            root_agent_id: agent.clone(),
            agent_type: AgentType::Main,
            metadata: Object::new(),
        };
        // One transaction: what commits take is not what is counted.
        conn.execute_batch(sql::BEGIN).unwrap();
        drop(claimant.create(&conn, &new).unwrap());
        Self { conn, claimant, session, agent, leaf: None, nodes: 0, message_before: None, said: 0, _ground: ground }
    }

    fn node(&mut self, run: &RunId, role: Role, node_type: NodeType, metadata: Object) -> Write {
        self.nodes += 1;
        let node_id = run.node(self.nodes);
        let parent_id = self.leaf.replace(node_id.clone());
        let content = vec![ContentBlock::text("Some words, and some more of them.")].into();
        Write::Node(NodeDraft { node_id, parent_id, role, node_type, content, metadata, token_count: 100 })
    }

    /// Reads what a run needs and gives how many nodes that are, then stores what it says; every tenth with a summary where there are any.
    fn message(&mut self, number: u64, summaries: bool) -> usize {
        let lease = self.claimant.claim(&self.conn, &self.session, Some("/p")).unwrap().lease;
        agents::load(&self.conn, &self.session, &self.agent).unwrap();
        let recent = Recent {
            tokens: 8192,
            results: 512,
            always: vec![NodeType::SkillContext],
            always_tokens: 800,
            summary: Some(NodeType::Compaction),
            words: Some(RecentWords { is_rule: |node| node.node_seq % 7 == 0, version: 1, rules: 24, others: 16 }),
            step: 64,
        };
        let loaded = self.leaf.clone().map_or(0, |leaf| {
            let Loaded { path, checkpoint } = load_recent(&self.conn, &self.session, &leaf, &recent).unwrap();
            if let Some(checkpoint) = checkpoint {
                checkpoint::keep(&self.conn, &self.session, &checkpoint).unwrap();
            }
            path.nodes.len() + path.earlier_words.len()
        });
        let run = RunId::parse(&format!("run_{number:06}")).unwrap();
        let (run_id, agent_id) = (run.clone(), self.agent.clone());
        let status = RunStatus::Pending;
        let row = NewRun { run_id, agent_id, status, start_node_id: None, metadata: Object::new() };
        let mut writes = vec![Write::Run(row), self.node(&run, Role::User, NodeType::Message, Object::new())];
        let before = std::mem::replace(&mut self.message_before, self.leaf.clone());
        writes.push(self.node(&run, Role::Assistant, NodeType::Message, Object::new()));
        if number.is_multiple_of(10) {
            // What the user asks for again and again, brought anew.
            writes.push(self.node(&run, Role::User, NodeType::SkillContext, Object::new()));
        }
        if let Some(kept) = before.filter(|_| summaries && number.is_multiple_of(10)) {
            let metadata = Object::from_iter([("first_kept_node_id".to_owned(), kept.as_str().into())]);
            writes.push(self.node(&run, Role::User, NodeType::Compaction, metadata));
        }
        let leaf = self.leaf.clone().unwrap();
        writes.push(Write::Activate(leaf.clone()));
        writes.push(Write::RunPatch(RunPatch {
            status: RunStatus::Completed,
            end_reason: Some(EndReason::Completed),
            end_node_id: Some(leaf),
            turn_count: 1,
            usage: Usage::default(),
            error: None,
        }));
        let commit = Commit { agent_id: self.agent.clone(), run_id: run, writes };
        apply::commit(&self.conn, &self.session, lease.fence(), &commit, Clock::system().now()).unwrap();
        said::messages(&self.conn, sql::NEWEST_USER_MESSAGES, &self.session, &self.agent, 0, 20).unwrap();
        loaded
    }

    /// Steps of SQLite's machine since it was asked last.
    fn steps(&self) -> i64 {
        let counted = sql::ALL.iter().map(|(_, sql)| match self.conn.prepare_cached(sql) {
            Ok(statement) => i64::from(statement.reset_status(StatementStatus::VmStep)),
            // The search's, of an index that is not there yet.
            Err(_) => 0,
        });
        counted.sum()
    }

    /// Goes on up to this message; steps and nodes read for each.
    fn until(&mut self, last: u64, summaries: bool) -> (f64, f64) {
        self.steps();
        let from = self.said;
        let mut loaded = 0;
        while self.said < last {
            self.said += 1;
            loaded += self.message(self.said, summaries);
        }
        let messages = (last - from) as f64;
        (self.steps() as f64 / messages, loaded as f64 / messages)
    }
}

/// FND-14, PERF-2: what a message takes of the database does not grow with its session: steps and rows around message 100 beside those
/// around message 2,500, with summaries and without.
#[test]
fn a_message_takes_no_more_in_a_long_session() {
    for summaries in [true, false] {
        let mut long = Long::new(if summaries { "flat-with-summaries" } else { "flat-without" });
        long.until(100, summaries);
        // As many as it takes for everything to happen that does not happen at each message.
        let early = long.until(300, summaries);
        long.until(2_300, summaries);
        let late = long.until(2_500, summaries);
        for (what, early, late) in [("steps", early.0, late.0), ("nodes read", early.1, late.1)] {
            println!("summaries {summaries}: {what} {early:.0} around message 200, {late:.0} around message 2,400");
            assert!(late <= early * 1.3, "summaries {summaries}: {what} {early:.0} became {late:.0}");
            assert!(early > 10.0, "{what} are counted: {early}");
        }
    }
}
