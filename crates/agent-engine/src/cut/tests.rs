use std::collections::HashSet;

use super::*;
use crate::marks::CompactionMark;
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
