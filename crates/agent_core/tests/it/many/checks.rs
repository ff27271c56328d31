//! What holds when a world is over.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use agent_core::event::{ChildAgentCancelTimeout, ChildAgentCreated, ToolStarted};
use agent_core::id::{RunId, SessionId};
use agent_core::message::ContentBlock;
use agent_core::runtime::RunStatus;
use agent_core::session::Node;
use agent_core::{EventType, RuntimeEvent};
use agent_store::{SessionStore, SqliteStore};
use agent_testkit::TestHome;
use serde_json::Value;

use super::tally::Tally;
use crate::stored::Stored;

const ENDS: [EventType; 3] = [EventType::LoopAborted, EventType::LoopCompleted, EventType::LoopFailed];

/// No process has this among its words, or soon has not.
pub(super) fn no_command_lives(nap: &str) {
    let until = Instant::now() + Duration::from_secs(6);
    loop {
        let living: Vec<String> = commands().into_iter().filter(|words| words.contains(nap)).collect();
        if living.is_empty() {
            return;
        }
        assert!(Instant::now() < until, "commands outlived their owners: {living:?}");
        sleep(Duration::from_millis(20));
    }
}

/// The words of all processes.
fn commands() -> Vec<String> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let words = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    words.map(|words| String::from_utf8_lossy(&words).replace('\0', " ")).collect()
}

/// `faulty`: storing failed at times.
pub(super) fn what_is_stored(home: &TestHome, session: &SessionId, faulty: bool, tally: &Tally) {
    let process = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    process.block_on(async {
        let store = Stored::open(&home.home).await.store;
        // Nobody holds it any more.
        drop(store.claim_session(session, None).await.expect("the session is released"));
        let events = store.events(session, 0, 1_000_000).await.unwrap();
        let nodes = store.nodes_between(session, 0, u64::from(u32::MAX), 1_000_000).await.unwrap();
        assert!(store.unfinished_runs(session).await.unwrap().is_empty());
        places(&events);
        ends(&store, session, &events, faulty, tally).await;
        let row = store.session(session).await.unwrap().unwrap();
        let path = store.load_path(session, &row.active_node_id.expect("the last run left something")).await.unwrap();
        results(&events, &nodes, &path, tally);
        logs(&home.project, session, &events, tally);
        store.close().await;
    });
}

/// EVT-4: places are gapless in the session and in each run.
fn places(events: &[RuntimeEvent]) {
    let places: Vec<_> = events.iter().map(|event| event.seq.unwrap()).collect();
    assert_eq!(places, (1..=events.len() as u64).collect::<Vec<_>>());
    let mut runs: HashMap<&RunId, u64> = HashMap::new();
    for event in events {
        let Some(run) = &event.run_id else { continue };
        let last = runs.entry(run).or_default();
        *last += 1;
        assert_eq!(event.run_seq, Some(*last), "{run}: {event:?}");
    }
}

/// RUN-20, AGT-4, WRK-9: every run has ended, once, and children before those that began them, but for those that did not stop in time;
/// nobody but the session's own agent began by itself.
async fn ends(store: &SqliteStore, session: &SessionId, events: &[RuntimeEvent], faulty: bool, tally: &Tally) {
    let root = store.session(session).await.unwrap().unwrap().root_agent_id;
    let created = events.iter().filter(|event| event.event_type == EventType::ChildAgentCreated);
    let created: HashSet<RunId> =
        created.map(|event| event.read::<ChildAgentCreated>().unwrap().child_run_id).collect();
    let mut ended: HashMap<&RunId, u64> = HashMap::new();
    for event in events.iter().filter(|event| ENDS.contains(&event.event_type)) {
        let run = event.run_id.as_ref().unwrap();
        assert!(ended.insert(run, event.seq.unwrap()).is_none(), "{run} ended twice");
    }
    let runs: HashSet<&RunId> = events.iter().filter_map(|event| event.run_id.as_ref()).collect();
    let mut cut: HashSet<RunId> = HashSet::new();
    for run in runs {
        let row = store.run(run).await.unwrap().unwrap_or_else(|| panic!("{run} has events and no row"));
        // One that was cancelled while it waited has come to nothing that could have a reason.
        assert!(row.end_reason.is_some() || row.status == RunStatus::Cancelled, "{row:?}");
        let is_internal = row.metadata.contains_key("purpose");
        // Where its event could not be stored, its row says it.
        let is_asked_for = created.contains(run) || row.metadata.contains_key("child");
        assert!(row.agent_id == root || is_internal || is_asked_for, "nobody began {row:?}");
        let began =
            events.iter().any(|event| event.run_id.as_ref() == Some(run) && event.event_type == EventType::LoopStarted);
        assert!(!began || ended.contains_key(run), "{run} began and has no end: {row:?}");
        if row.error.as_ref().is_some_and(|error| error.details.contains_key("kind")) {
            tally.count(|tally| &tally.cut_short);
            cut.insert(run.clone());
        }
    }
    let left: HashSet<RunId> = events
        .iter()
        .filter(|event| event.event_type == EventType::ChildAgentCancelTimeout)
        .map(|event| event.read::<ChildAgentCancelTimeout>().unwrap().child_run_id)
        .collect();
    for event in events.iter().filter(|event| event.event_type == EventType::ChildAgentCreated) {
        let created: ChildAgentCreated = event.read().unwrap();
        let (child, parent) = (ended.get(&created.child_run_id), ended.get(event.run_id.as_ref().unwrap()));
        match created.agent_type.as_str() {
            "fork" => tally.count(|tally| &tally.forks),
            _ if created.task_id.is_some() => tally.count(|tally| &tally.dispatches),
            _ => tally.count(|tally| &tally.children),
        }
        if let (Some(child), Some(parent)) = (child, parent) {
            // The end of one that could not be stored is written by whoever takes the session up.
            let is_cut = cut.contains(&created.child_run_id) && faulty;
            let in_order = child < parent || is_cut || left.contains(&created.child_run_id);
            assert!(
                in_order,
                "{} ended after its parent: {:?}",
                created.child_run_id,
                store.run(&created.child_run_id).await
            );
        }
    }
    let commands = |event: &&RuntimeEvent| {
        event.event_type == EventType::ToolStarted
            && event.read::<ToolStarted>().is_ok_and(|started| started.tool_name == "code.run_command")
    };
    tally.add(|tally| &tally.commands, events.iter().filter(commands).count());
}

/// AGT-5, RUN-20: every call in the user's conversation has one result there: what came of it, or that nobody knows. So has every call of
/// a child whose run completed.
fn results(events: &[RuntimeEvent], nodes: &[Node], path: &[Node], tally: &Tally) {
    let mut results = HashMap::new();
    for block in nodes.iter().flat_map(|node| node.content.iter()) {
        if let ContentBlock::ToolResult(result) = block {
            results.insert(&result.tool_call_id, result);
        }
    }
    let created: HashSet<_> = events
        .iter()
        .filter(|event| event.event_type == EventType::ChildAgentCreated)
        .filter_map(|event| event.tool_call_id.as_ref())
        .collect();
    let root = path.first().map(|node| &node.agent_id);
    // What an agent's last run leaves open, its next one answers; most children have none.
    let completed = events.iter().filter(|event| event.event_type == EventType::LoopCompleted);
    let completed: HashSet<_> = completed.filter_map(|event| event.run_id.as_ref()).collect();
    let of_children = nodes.iter().filter(|node| Some(&node.agent_id) != root && completed.contains(&node.run_id));
    for node in path.iter().chain(of_children) {
        for block in node.content.iter() {
            let ContentBlock::ToolCall(call) = block else { continue };
            let Some(result) = results.get(&call.tool_call_id) else {
                panic!("no result of {call:?} of {} in {}", node.agent_id, node.run_id);
            };
            if created.contains(&call.tool_call_id) {
                match result.is_error {
                    true => tally.count(|tally| &tally.losses),
                    false => tally.count(|tally| &tally.results),
                }
            }
        }
    }
}

/// WAL-5, TSK-5, WRK-7: each log makes its Task again, says in its place whatever was told of it, and no step is held.
fn logs(project: &Path, session: &SessionId, events: &[RuntimeEvent], tally: &Tally) {
    let folder = agent_task_store::session_folder(&project.join(".soong-agent/tasks"), session);
    // A Task's id may have been given again; its log says which lines are its own.
    let mut lines: BTreeMap<(String, u64), Vec<String>> = BTreeMap::new();
    for log in agent_task_store::logs(&folder).unwrap() {
        let task = agent_task_store::read_task(&log.path, session)
            .unwrap_or_else(|why| panic!("{}: {why}", log.path.display()));
        tally.count(|tally| &tally.tasks);
        let held: Vec<_> = task.steps().filter(|step| step.lease().is_some()).collect();
        assert!(held.is_empty(), "steps that dead runs hold: {held:?}");
        for line in fs::read_to_string(&log.path).unwrap().lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            let event_type = line["event_type"].as_str().unwrap().to_owned();
            tally.add(|tally| &tally.claims, usize::from(event_type == "task_step_claimed"));
            lines.entry((task.id().to_string(), line["wal_seq"].as_u64().unwrap())).or_default().push(event_type);
        }
    }
    for event in events {
        let (Some(task), Some(seq)) = (event.payload.get("task_id"), event.payload.get("wal_seq")) else { continue };
        let place = (task.as_str().unwrap().to_owned(), seq.as_u64().unwrap());
        let is_there = lines.get(&place).is_some_and(|types| types.iter().any(|it| it == event.event_type.as_str()));
        assert!(is_there, "told of a line that no log has: {event:?}");
    }
}
