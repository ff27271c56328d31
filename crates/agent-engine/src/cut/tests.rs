use std::collections::HashSet;

use super::*;
use crate::marks::CompactionMark;
use crate::path::forgetting::Memory;
use crate::run::testing::sources;
use crate::{Calibration, ContextMark, compose};
use agent_protocol::{ContentBlock, NodeDraft, NodeType, Object, ToolCall, ToolCallId, ToolResultBlock};
use proptest::prelude::*;

/// What stands on a path; every number is a size in words.
#[derive(Debug, Clone)]
enum Item {
    User(usize),
    Text(usize),
    Calls(Vec<usize>),
    /// A call whose result was never stored.
    Broken,
    Skill(u8, usize),
    /// Keeps what began so many groups ago; `true`: on another branch.
    Compaction(usize, bool),
    /// A user message with a result in it.
    Imported,
}

fn words(n: usize) -> ContentBlock {
    ContentBlock::text("word ".repeat(n))
}

fn path(items: &[Item]) -> Path {
    let mut path = Path::new();
    let mut heads = Vec::new();
    for (n, item) in items.iter().enumerate() {
        let push = |path: &mut Path, suffix: &str, role, node_type, content: Vec<ContentBlock>, metadata| {
            let node_id = NodeId::parse(&format!("node_{n}{suffix}")).unwrap();
            let token_count = TokenCounter.message(&content);
            let parent_id = path.tip().cloned();
            path.push(&NodeDraft {
                node_id,
                parent_id,
                role,
                node_type,
                content: content.into(),
                metadata,
                token_count,
            });
        };
        let id = |call: usize| ToolCallId::parse(&format!("call_{n}_{call}")).unwrap();
        let call = |at: usize| {
            let (name, arguments, metadata) = ("look".to_owned(), Object::new(), Object::new());
            ContentBlock::ToolCall(ToolCall { tool_call_id: id(at), name, arguments, metadata })
        };
        let result = |at: usize, size: usize| {
            let (content, metadata) = (vec![words(size)], Object::new());
            ContentBlock::ToolResult(ToolResultBlock {
                tool_call_id: id(at),
                is_error: false,
                content,
                error: None,
                metadata,
            })
        };
        let message = NodeType::Message;
        match item {
            Item::User(size) => push(&mut path, "", Role::User, message, vec![words(*size)], Object::new()),
            Item::Text(size) => push(&mut path, "", Role::Assistant, message, vec![words(*size)], Object::new()),
            Item::Broken => push(&mut path, "", Role::Assistant, message, vec![call(0)], Object::new()),
            Item::Calls(sizes) => {
                push(&mut path, "", Role::Assistant, message, (0..sizes.len()).map(call).collect(), Object::new());
                for (at, size) in sizes.iter().enumerate().rev() {
                    push(&mut path, &format!("_{at}"), Role::Tool, message, vec![result(at, *size)], Object::new());
                }
            }
            Item::Skill(key, size) => {
                let mark = ContextMark { items: vec![(format!("skill {key}"), "h".into())], call: None };
                push(&mut path, "", Role::User, NodeType::SkillContext, vec![words(*size)], mark.metadata());
            }
            Item::Imported => {
                push(&mut path, "", Role::User, message, vec![words(2), result(7, 3)], Object::new());
            }
            Item::Compaction(back, elsewhere) => {
                let Some(first_kept) = heads.len().checked_sub(1 + back).map(|at| heads[at]) else { continue };
                let first_kept = if *elsewhere { "node_elsewhere".to_owned() } else { format!("node_{first_kept}") };
                let first_kept_node_id = NodeId::parse(&first_kept).unwrap();
                let covered = path.position(&first_kept_node_id).unwrap_or(0);
                let turns = path.nodes()[..covered].iter().filter(|node| node.role == Role::Assistant).count();
                let mark = CompactionMark {
                    first_kept_node_id,
                    turns,
                    turns_left_out: 0,
                    tokens_before: 0,
                    tokens_after: 0,
                    user_words: Sayings::default(),
                    details: Object::new(),
                };
                push(&mut path, "", Role::User, NodeType::Compaction, vec![words(9)], mark.metadata());
                continue;
            }
        }
        heads.push(n);
    }
    path
}

fn item() -> impl Strategy<Value = Item> {
    prop_oneof![
        3 => (1..60_usize).prop_map(Item::User),
        3 => (1..60_usize).prop_map(Item::Text),
        5 => prop::collection::vec(0..200_usize, 1..5).prop_map(Item::Calls),
        1 => Just(Item::Broken),
        1 => (0..3_u8, 1..80_usize).prop_map(|(key, size)| Item::Skill(key, size)),
        1 => (0..6_usize, prop::bool::weighted(0.2)).prop_map(|(back, elsewhere)| Item::Compaction(back, elsewhere)),
        1 => Just(Item::Imported),
    ]
}

/// Each call directly followed by exactly its results; no result without its call.
fn is_valid(messages: &[Arc<ModelMessage>]) -> bool {
    let mut waiting: HashSet<&ToolCallId> = HashSet::new();
    for message in messages {
        for block in message.content.iter() {
            match block {
                ContentBlock::ToolResult(result)
                    if message.role != Role::Tool || !waiting.remove(&result.tool_call_id) =>
                {
                    return false;
                }
                _ => {}
            }
        }
        if message.role != Role::Tool {
            if !waiting.is_empty() {
                return false;
            }
            waiting
                .extend(message.content.iter().filter_map(ContentBlock::as_tool_call).map(|call| &call.tool_call_id));
        }
    }
    waiting.is_empty()
}

const SUMMARY: u64 = 200;

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    /// CTX-5, TST-4, CMPT-04, CMPT-09: over random paths, budgets, windows and compactions, neither a request nor what is given
    /// to be summarised ever breaks a call from its results.
    /// FND-42: a summary claims the turns that its writer is shown and those of the summary before it; the others before its kept part
    /// are counted apart.
    /// CMP-2, CMP-7: a plan cuts at a node of the path, in front of the latest exchange, and frees what a summary may take.
    #[test]
    fn no_cut_breaks_a_group(
        items in prop::collection::vec(item(), 1..40),
        messages in 300_u64..4_000,
        keep in 0_u64..1_500,
        covered in 100_u64..4_000,
        slid in 0_usize..40,
        squeeze in 0_u8..=3,
    ) {
        let path = path(&items);
        let sources = sources(messages);
        let border = path.groups().get(slid).map_or(0, |group| group.head);
        let window = Window { first_kept: border, squeeze };
        if let Ok((request, report)) = compose(&path, &sources, window, Calibration::default()) {
            prop_assert!(is_valid(&request.messages));
            prop_assert!(report.message_tokens <= messages);
        }
        let room = CompactionRoom { keep, covered, summary: SUMMARY };
        let Some(planned) = plan_compaction(&path, &sources, window, room) else { return Ok(()) };
        prop_assert!(is_valid(&planned.messages));
        prop_assert!(planned.tokens <= covered);
        let first_kept = path.position(&planned.plan.first_kept_node_id).unwrap();
        prop_assert!(path.compaction().is_none_or(|compaction| compaction.first_kept < first_kept));
        prop_assert!(path.groups().iter().any(|group| group.head == first_kept));
        let latest = path.nodes().iter().rposition(|node| node.role == Role::Assistant).unwrap_or(0);
        prop_assert!(first_kept <= latest.max(path.last_input().unwrap_or(0)));
        prop_assert!(planned.plan.tokens_kept + planned.plan.summary_limit < planned.plan.tokens_before);
        let shown = planned.messages.iter().filter(|message| message.role == Role::Assistant).count();
        let known = path.compaction().map_or(0, |compaction| compaction.mark.turns);
        prop_assert_eq!(planned.plan.turns, known + shown);
        prop_assert_eq!(planned.plan.turns_left_out, turns_before(&path, first_kept).saturating_sub(known + shown));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    /// CMP-1, PERF-5: what a summary covers need not be kept in memory: the next request is the same without it, its report
    /// included.
    #[test]
    fn what_is_covered_may_go(items in prop::collection::vec(item(), 1..40), slid in 0_usize..40) {
        let mut whole = path(&items);
        let mut part = whole.clone().without_what_is_covered();
        prop_assert!(part.len() <= whole.len());
        // A run begins with a message, and the one before is kept for its own sake no longer.
        let content = vec![words(3)];
        let message = NodeDraft {
            node_id: NodeId::parse("node_now").unwrap(),
            parent_id: whole.tip().cloned(),
            role: Role::User,
            node_type: NodeType::Message,
            token_count: TokenCounter.message(&content),
            content: content.into(),
            metadata: Object::new(),
        };
        whole.push(&message);
        part.push(&message);
        let sources = sources(100_000);
        let compose = |path: &Path, window| compose(path, &sources, window, Calibration::default()).unwrap();
        let run = |path: &Path| Window { first_kept: path.omitted().pinned, squeeze: 0 };
        let (before, after) = (compose(&whole, Window::default()), compose(&part, run(&part)));
        prop_assert_eq!(&before.0.messages, &after.0.messages);
        let counts = |report: &crate::ContextReport| {
            (report.nodes_in, report.nodes_out, report.turns_out, report.turns_summarised, report.pinned.clone())
        };
        prop_assert_eq!(counts(&before.1), counts(&after.1));
        // And after a slide.
        let group = whole.groups().get(slid).map(|group| whole.nodes()[group.head].node_id.clone());
        let at = group.and_then(|id| Some((whole.position(&id)?, part.position(&id)?)));
        if let Some((whole_at, part_at)) = at.filter(|(_, part_at)| *part_at >= part.omitted().pinned) {
            let before = compose(&whole, Window { first_kept: whole_at, squeeze: 0 });
            let after = compose(&part, Window { first_kept: part_at, squeeze: 0 });
            prop_assert_eq!(&before.0.messages, &after.0.messages);
            prop_assert_eq!(counts(&before.1), counts(&after.1));
        }
    }
}

/// CMP-2: back from the tip until the budget, then to the start of a person's turn; a turn that is too big is split.
#[test]
fn where_a_path_is_cut() {
    use Item::{Calls, Text, User};
    let room = |keep| CompactionRoom { keep, covered: 100_000, summary: SUMMARY };
    let plan = |items: &[Item], keep| {
        let planned = plan_compaction(&path(items), &sources(2_000), Window::default(), room(keep))?;
        Some(planned.plan.first_kept_node_id.as_str().to_owned())
    };
    let turns = [User(100), Calls(vec![100]), Text(100), User(100), Calls(vec![100]), Text(100), User(90), Text(90)];
    // The budget ends within the second turn; the third is near enough.
    assert_eq!(plan(&turns, 450).as_deref(), Some("node_6"));
    assert_eq!(plan(&turns, 700).as_deref(), Some("node_3"));
    let huge = [User(10), Calls(vec![200]), Calls(vec![200]), Calls(vec![200]), Calls(vec![200])];
    assert_eq!(plan(&huge, 600).as_deref(), Some("node_3"));
    // What would free nothing is not planned.
    assert_eq!(plan(&[User(100), Text(100)], 10), None);
    assert_eq!(plan(&turns, 100_000), None);
}

/// CMPT-11: what does not fit into one request for a summary is summarised in steps.
#[test]
fn as_much_as_fits() {
    let items: Vec<_> = (0..30).flat_map(|_| [Item::User(40), Item::Text(160)]).collect();
    let room = CompactionRoom { keep: 300, covered: 2_000, summary: SUMMARY };
    let planned = plan_compaction(&path(&items), &sources(1_000), Window::default(), room).unwrap();
    assert!((1_000..=2_000).contains(&planned.tokens), "{}", planned.tokens);
}

/// FND-42: where not even the oldest exchange fits into a request for a summary, that is the reason, with what it takes.
#[test]
fn no_room_for_the_oldest_exchange() {
    let items: Vec<_> = (0..10).flat_map(|_| [Item::User(40), Item::Calls(vec![400])]).collect();
    let of = |covered| {
        let room = CompactionRoom { keep: 300, covered, summary: SUMMARY };
        super::plan(&path(&items), &sources(4_000), Window::default(), room)
    };
    let Err(NoPlan::NoRoom(needed)) = of(20) else { panic!("{:?}", of(20)) };
    assert!(needed > 20, "{needed}");
    assert!(of(4_000).is_ok());
    assert_eq!(
        super::plan(
            &path(&items[..2]),
            &sources(4_000),
            Window::default(),
            CompactionRoom { keep: 3_000, covered: 9, summary: 9 }
        )
        .err(),
        Some(NoPlan::NotWorthIt)
    );
}

fn memory(end: u64) -> Memory {
    Memory { end, results: end / 8, pinned: end / 4, words: end / 5 }
}

/// FND-14, FND-11: a conversation that goes on without a summary stays as long in memory as a request can be, and the user's rules stay
/// first, whenever they were said.
#[test]
fn what_no_request_holds_goes() {
    let said = |text: &str, number: usize| {
        let content = vec![ContentBlock::text(text)];
        let token_count = TokenCounter.message(&content);
        let node_id = NodeId::parse(&format!("node_{number}")).unwrap();
        let (content, metadata) = (content.into(), Object::new());
        let node_type = NodeType::Message;
        NodeDraft { node_id, parent_id: None, role: Role::User, node_type, content, metadata, token_count }
    };
    for rule_at in [0, 7, 50, 399] {
        let mut path = Path::new();
        let mut longest = 0;
        for message in 0..400 {
            let text = if message == rule_at {
                "Never touch the vault.".to_owned()
            } else {
                format!("part {message} {}", "word ".repeat(60))
            };
            path.push(&said(&text, 2 * message));
            let reply = said(&"answer ".repeat(60), 2 * message + 1);
            path.push(&NodeDraft { role: Role::Assistant, ..reply });
            path = path.without_what_is_covered().without_the_oldest(memory(1_000));
            longest = longest.max(path.len());
            assert_eq!(path.len() + path.omitted().nodes, 2 * message + 2);
        }
        assert!((10..60).contains(&longest), "{longest}");
        path.push(&said("And now?", 9_999));
        let window = Window { first_kept: path.omitted().pinned, squeeze: 0 };
        let (request, report) = compose(&path, &sources(100_000), window, Calibration::default()).unwrap();
        let text = format!("{:?}", request.messages);
        assert!(text.contains("Never touch the vault."), "a rule of message {rule_at} is gone");
        assert!(report.turns_out >= 350 && report.marker.is_some(), "{}", report.turns_out);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    /// FND-14, PERF-5: what is let go of changes no request that fits the window: its messages are the same but for the marker's words.
    #[test]
    fn what_is_let_go_of_is_in_no_request(items in prop::collection::vec(item(), 1..60), end in 50_u64..600) {
        requests_are_the_same(&items, end)?;
    }
}

/// FND-14: an earlier summary that is let go of behind the border of the last one leaves no gap.
#[test]
fn an_earlier_summary_is_no_gap() {
    let (skill, summary) = (Item::Skill, |kept| Item::Compaction(kept, false));
    let calls = Item::Calls(vec![109, 48, 104, 31]);
    let items = [skill(0, 13), Item::Imported, skill(0, 68), summary(0), calls, Item::Imported, summary(2)];
    requests_are_the_same(&items, 50).unwrap();
}

fn requests_are_the_same(items: &[Item], end: u64) -> Result<(), TestCaseError> {
    let mut whole = path(items).without_what_is_covered();
    let mut part = whole.clone().without_the_oldest(Memory { results: 100_000, pinned: 100_000, ..memory(end) });
    let content = vec![words(3)];
    let (node_id, token_count) = (NodeId::parse("node_now").unwrap(), TokenCounter.message(&content));
    let (role, node_type, metadata) = (Role::User, NodeType::Message, Object::new());
    let message =
        NodeDraft { node_id, parent_id: None, role, node_type, content: content.into(), metadata, token_count };
    whole.push(&message);
    part.push(&message);
    let sources = sources(100_000);
    let first = part.nodes().get(part.omitted().pinned).map(|node| node.node_id.clone()).unwrap();
    let at = |path: &Path| Window { first_kept: path.position(&first).unwrap(), squeeze: 0 };
    let compose = |path: &Path| compose(path, &sources, at(path), Calibration::default()).unwrap();
    let (before, after) = (compose(&whole), compose(&part));
    let is_marker = |message: &&Arc<ModelMessage>| {
        message.metadata.get("source_node_type").and_then(serde_json::Value::as_str) != Some("window")
    };
    let shown =
        |request: &agent_protocol::ModelRequest| request.messages.iter().filter(is_marker).cloned().collect::<Vec<_>>();
    prop_assert_eq!(shown(&before.0), shown(&after.0));
    let counts =
        |report: &crate::ContextReport| (report.nodes_in, report.nodes_out, report.turns_out, report.turns_summarised);
    prop_assert_eq!(counts(&before.1), counts(&after.1));
    prop_assert_eq!(before.1.marker.is_some(), after.1.marker.is_some());
    Ok(())
}
