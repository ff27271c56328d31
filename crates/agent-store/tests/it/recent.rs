//! The end of a path.

use std::cell::Cell;

use agent_protocol::{Node, NodeDraft, NodeId, NodeType, Role};
use agent_store::{Recent, RecentPath, RecentWords, SessionStore, StoreError, Write};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::support::{Place, Writing, node};

/// PERF-5, STO-7: the end of a path is what the whole path ends with: at least the tokens asked for, never beginning with a
/// result, with what is always wanted before it, and the rest counted.
#[tokio::test]
async fn the_end_of_a_path() {
    let place = Place::new("recent");
    let store = place.open().await;
    let writing = Writing::begin(&store, "1").await;
    // u s a t t | a t t | … each of 10 tokens; a sibling beside each reply.
    let kinds = [
        (Role::User, NodeType::Message),
        (Role::User, NodeType::SkillContext),
        (Role::Assistant, NodeType::Message),
        (Role::Tool, NodeType::Message),
        (Role::Tool, NodeType::Message),
    ];
    let mut writes = Vec::new();
    for n in 1..=60_u64 {
        let parent = (n > 1).then(|| writing.run.node(n - 1));
        let mut draft = node(writing.run.node(n), parent.clone(), &format!("text {n}"));
        (draft.role, draft.node_type) = match n {
            1 | 2 => kinds[n as usize - 1],
            _ => kinds[2 + (n as usize) % 3],
        };
        if n == 30 {
            draft.node_type = NodeType::SkillContext;
            draft.role = Role::User;
        }
        draft.token_count = 10;
        writes.push(Write::Node(draft));
        writes.push(Write::Node(node(writing.run.node(1000 + n), parent, "beside")));
    }
    store.commit(&writing.lease, writing.commit(writes)).await.unwrap();
    let (session, leaf) = (writing.session(), writing.run.node(60));
    let whole = store.load_path(session, &leaf).await.unwrap();
    assert_eq!(whole.len(), 60);
    let tokens = |nodes: &[Node]| nodes.iter().map(|node| node.token_count).sum::<u64>();
    for asked in [0, 1, 10, 11, 95, 200, 305, 590, 600, 10_000] {
        for always in [vec![], vec![NodeType::SkillContext]] {
            let recent = Recent {
                tokens: asked,
                results: u64::MAX,
                always: always.clone(),
                always_tokens: 1000,
                ..Recent::default()
            };
            let end = store.load_recent(session, &leaf, &recent).await.unwrap();
            let pinned = |node: &&Node| always.contains(&node.node_type);
            let newer: Vec<_> = end.nodes.iter().rev().zip(whole.iter().rev()).take_while(|(a, b)| a == b).collect();
            let cut = whole.len() - newer.len();
            let (older, rest) = whole.split_at(cut);
            assert!(tokens(rest) >= asked.min(600), "{asked}");
            assert!(tokens(rest) < asked + 40 || cut == 0, "{asked}: not much more than asked for");
            assert!(rest.first().is_none_or(|node| node.role != Role::Tool), "{asked}");
            let before: Vec<_> = older.iter().filter(pinned).collect();
            assert!(end.nodes.iter().zip(&before).all(|(a, b)| a == *b), "{asked}");
            assert_eq!(end.nodes.len(), before.len() + rest.len(), "{asked}");
            let gone: Vec<_> = older.iter().filter(|node| !pinned(node)).collect();
            let turns = gone.iter().filter(|node| node.role == Role::Assistant).count();
            assert_eq!((end.omitted_nodes, end.omitted_turns), (gone.len(), turns), "{asked}");
            assert_eq!(end.nodes_before, older.iter().take_while(pinned).count(), "{asked}");
        }
    }
}

/// PERF-5: big results count as what they may be shortened to, so that what they would still leave room for is there.
#[tokio::test]
async fn big_results_leave_room() {
    let place = Place::new("recent-results");
    let store = place.open().await;
    let writing = Writing::begin(&store, "1").await;
    let roles = [Role::User, Role::Assistant, Role::Tool, Role::Tool, Role::Assistant, Role::Tool];
    let writes = roles.iter().zip(1..).map(|(role, n)| {
        let parent = (n > 1).then(|| writing.run.node(n - 1));
        let mut draft = node(writing.run.node(n), parent, "text");
        draft.role = *role;
        draft.token_count = if *role == Role::Tool { 1000 } else { 10 };
        Write::Node(draft)
    });
    store.commit(&writing.lease, writing.commit(writes.collect())).await.unwrap();
    let (session, leaf) = (writing.session(), writing.run.node(6));
    for (results, expected) in [(20, 6), (200, 2), (u64::MAX, 2)] {
        let recent = Recent { tokens: 100, results, ..Recent::default() };
        let end = store.load_recent(session, &leaf, &recent).await.unwrap();
        assert_eq!(end.nodes.len(), expected, "{results}");
    }
}

/// A node to be stored below one that is so many back, and what it names as first kept, so many back as well.
#[derive(Debug, Clone)]
struct Grown {
    back: usize,
    role: Role,
    node_type: NodeType,
    synthetic: bool,
    tokens: u64,
    keeps: Option<usize>,
}

fn grown() -> impl Strategy<Value = Grown> {
    let back = prop_oneof![12 => Just(1_usize), 2 => 2_usize..8];
    let kind = prop_oneof![
        4 => Just((Role::User, NodeType::Message)),
        6 => Just((Role::Assistant, NodeType::Message)),
        6 => Just((Role::Tool, NodeType::Message)),
        2 => Just((Role::User, NodeType::SkillContext)),
        1 => Just((Role::User, NodeType::SystemNote)),
        2 => Just((Role::User, NodeType::Compaction)),
    ];
    let synthetic = prop_oneof![3 => Just(false), 1 => Just(true)];
    let keeps = prop_oneof![1 => Just(None), 6 => (0_usize..20).prop_map(Some)];
    (back, kind, synthetic, 0_u64..60, keeps).prop_map(|(back, (role, node_type), synthetic, tokens, keeps)| Grown {
        back,
        role,
        node_type,
        synthetic,
        tokens,
        keeps,
    })
}

fn wanted() -> impl Strategy<Value = Recent> {
    let tokens = prop_oneof![4 => 0_u64..600, 1 => Just(0), 1 => Just(u64::MAX)];
    let results = prop_oneof![Just(u64::MAX), 0_u64..100];
    let always = prop_oneof![Just(vec![]), Just(vec![NodeType::SkillContext]), Just(vec![NodeType::Compaction])];
    let summary = prop_oneof![4 => Just(Some(NodeType::Compaction)), 1 => Just(None)];
    let always_tokens = prop_oneof![Just(u64::MAX), 0_u64..150];
    // Few questions, so that what was kept for one is used for another of its kind.
    let words = prop_oneof![1 => Just(None), 4 => prop_oneof![Just((0, 2)), Just((1, 0)), Just((2, 3))].prop_map(Some)];
    (tokens, results, always, always_tokens, summary, words, 0_usize..12).prop_map(
        |(tokens, results, always, always_tokens, summary, words, step)| {
            let words = words.map(|(rules, others)| RecentWords { is_rule, version: 1, rules, others });
            Recent { tokens, results, always, always_tokens, summary, words, step }
        },
    )
}

fn is_rule(node: &Node) -> bool {
    node.token_count.is_multiple_of(3)
}

/// What is wanted of a whole path, read plainly.
fn plainly(whole: &[Node], recent: &Recent) -> RecentPath {
    let is_summary = |node: &Node| Some(node.node_type) == recent.summary;
    let place = |id: &str| whole.iter().position(|node| node.node_id.as_str() == id);
    let kept_by = |at: usize| {
        let named = whole[at].metadata.get("first_kept_node_id")?.as_str()?;
        place(named).filter(|first| *first < at)
    };
    let summary = (0..whole.len()).rev().filter(|at| is_summary(&whole[*at])).find(|at| kept_by(*at).is_some());
    let first = summary.and_then(kept_by).unwrap_or(0);
    let kept: Vec<usize> = (first..whole.len()).filter(|at| !is_summary(&whole[*at])).collect();
    let weight = |nodes: &[usize]| -> u64 {
        let weigh = |at: &usize| whole[*at].token_count.max(1);
        let replies = nodes.chunk_by(|a, b| (whole[*a].role == Role::Tool) == (whole[*b].role == Role::Tool));
        replies
            .map(|piece| {
                let sum = piece.iter().map(weigh).sum::<u64>();
                if whole[piece[0]].role == Role::Tool { sum.min(recent.results) } else { sum }
            })
            .sum()
    };
    let begins_well = |at: &usize| kept.get(*at).is_none_or(|node| whole[*node].role != Role::Tool);
    let start = (0..=kept.len()).rev().filter(begins_well).find(|at| weight(&kept[*at..]) >= recent.tokens);
    let border = kept.get(start.unwrap_or(0)).copied().unwrap_or(whole.len());
    let before_border = |at: &usize| *at < border;
    let (mut left, mut pinned) = (recent.always_tokens, Vec::new());
    for at in (0..border).rev().filter(|at| !is_summary(&whole[*at]) && recent.always.contains(&whole[*at].node_type)) {
        let Some(rest) = left.checked_sub(whole[at].token_count) else { break };
        left = rest;
        pinned.push(at);
    }
    let is_loaded = |at: &usize| match is_summary(&whole[*at]) {
        true => Some(*at) == summary,
        false => *at >= border || pinned.contains(at),
    };
    let (loaded, omitted): (Vec<usize>, Vec<usize>) = (0..whole.len()).partition(is_loaded);
    let mut said: Vec<usize> = omitted.iter().copied().filter(|at| before_border(at) && *at >= first).collect();
    said.retain(|at| {
        let node = &whole[*at];
        recent.words.is_some()
            && (node.role, node.node_type) == (Role::User, NodeType::Message)
            && !node.metadata.contains_key("synthetic")
            // What is wanted because of its type is told apart from what was said.
            && !recent.always.contains(&NodeType::Message)
    });
    let (wanted_rules, wanted_others) = recent.words.map_or((0, 0), |words| (words.rules, words.others));
    let (rules, others): (Vec<usize>, Vec<usize>) = said.iter().skip(1).partition(|at| is_rule(&whole[**at]));
    let newest_rules = rules.iter().skip(wanted_rules.min(rules.len())).rev().take(wanted_rules);
    let mut words: Vec<usize> = said.iter().take(1).chain(rules.iter().take(wanted_rules)).copied().collect();
    words.extend(newest_rules.chain(others.iter().rev().take(wanted_others)));
    words.sort_unstable();
    let is_missing = |at: &usize| before_border(at) && *at >= first && !is_summary(&whole[*at]);
    let first_gone = omitted.iter().copied().find(is_missing).unwrap_or(border);
    let nodes = |places: &[usize]| places.iter().map(|at| whole[*at].clone()).collect::<Vec<_>>();
    RecentPath {
        omitted_nodes: omitted.len(),
        omitted_turns: omitted.iter().filter(|at| whole[**at].role == Role::Assistant).count(),
        nodes_before: loaded.iter().filter(|at| **at < first_gone).count(),
        nodes_pinned: loaded.iter().copied().filter(before_border).count(),
        nodes: nodes(&loaded),
        earlier_words: nodes(&words),
        earlier_unread: said.len() - words.len(),
    }
}

/// FND-14, FND-11, PERF-5, CMP-1, STO-7: of random trees with summaries that name nodes of their path, of another one or none, what is loaded
/// is what a plain reading of the whole path gives, whatever
/// was counted and kept before.
#[test]
fn what_is_loaded_is_what_the_whole_path_gives() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (number, summaries, outgrown, said) = (Cell::new(0), Cell::new(0), Cell::new(0), Cell::new(0));
    let kept = Cell::new(0);
    let asked = prop::collection::vec((any::<prop::sample::Index>(), wanted()), 40);
    TestRunner::new(Config::with_cases(40))
        .run(&(prop::collection::vec(grown(), 1..60), asked), |(tree, asked)| {
            number.set(number.get() + 1);
            runtime.block_on(async {
                let place = Place::new(&format!("recent-summaries-{}", number.get()));
                let store = place.open().await;
                let writing = Writing::begin(&store, "1").await;
                let id = |n: usize| writing.run.node(n as u64);
                let writes = tree.iter().zip(1_usize..).map(|(grown, n)| {
                    let parent = n.checked_sub(grown.back).filter(|parent| *parent > 0).map(id);
                    let mut draft = NodeDraft {
                        role: grown.role,
                        node_type: grown.node_type,
                        token_count: grown.tokens,
                        ..node(id(n), parent, "text")
                    };
                    if grown.synthetic {
                        draft.metadata.insert("synthetic".into(), true.into());
                    }
                    if let Some(back) = grown.keeps.filter(|_| grown.node_type == NodeType::Compaction) {
                        let kept = n.checked_sub(back).map_or("node_nonesuch".to_owned(), |n| id(n).to_string());
                        draft.metadata.insert("first_kept_node_id".into(), kept.into());
                    }
                    Write::Node(draft)
                });
                store.commit(&writing.lease, writing.commit(writes.collect())).await.unwrap();
                for (leaf, recent) in &asked {
                    let leaf = id(1 + leaf.index(tree.len()));
                    let whole = store.load_path(writing.session(), &leaf).await.unwrap();
                    let found = store.load_recent(writing.session(), &leaf, recent).await.unwrap();
                    assert_eq!(found, plainly(&whole, recent), "{recent:?}");
                    assert_eq!(found.nodes.len() + found.omitted_nodes, whole.len());
                    let at = found.nodes.iter().position(|node| Some(node.node_type) == recent.summary);
                    summaries.set(summaries.get() + usize::from(at.is_some()));
                    outgrown.set(outgrown.get() + usize::from(at.is_some_and(|at| at < found.nodes_pinned)));
                    said.set(said.get() + found.earlier_words.len());
                }
                let checkpoints = place.raw().query_row("SELECT count(*) FROM path_checkpoints", [], |row| row.get(0));
                kept.set(kept.get() + checkpoints.unwrap_or(0));
                std::fs::remove_dir_all(&place.folder).unwrap();
            });
            Ok(())
        })
        .unwrap();
    assert!(kept.get() > 100, "{kept:?}");
    assert!(summaries.get() > 100 && outgrown.get() > 30 && said.get() > 100, "{summaries:?} {outgrown:?} {said:?}");
}

/// CMP-1: the newest summary stands for the beginning, in its place; one that the path has outgrown comes before the end.
#[tokio::test]
async fn a_summary_stands_for_the_beginning() {
    let place = Place::new("recent-summary");
    let store = place.open().await;
    let writing = Writing::begin(&store, "1").await;
    // Exchanges of 20 tokens; 7 is a skill; 12 stands for what comes before 5, 20 for what comes before 15.
    let writes = (1..=30_u64).map(|n| {
        let parent = (n > 1).then(|| writing.run.node(n - 1));
        let mut draft = node(writing.run.node(n), parent, &format!("text {n}"));
        draft.token_count = 10;
        draft.role = if n % 2 == 0 { Role::Assistant } else { Role::User };
        if let Some((_, kept)) = [(12, 5), (20, 15)].iter().find(|(at, _)| *at == n) {
            (draft.role, draft.node_type) = (Role::User, NodeType::Compaction);
            let kept = writing.run.node(*kept).to_string();
            draft.metadata.insert("first_kept_node_id".into(), kept.into());
        }
        if n == 7 {
            draft.node_type = NodeType::SkillContext;
        }
        Write::Node(draft)
    });
    store.commit(&writing.lease, writing.commit(writes.collect())).await.unwrap();
    let load = async |leaf: u64, tokens| {
        let recent = Recent {
            tokens,
            results: u64::MAX,
            always: vec![NodeType::SkillContext],
            always_tokens: u64::MAX,
            summary: Some(NodeType::Compaction),
            words: Some(RecentWords { is_rule: |_| false, version: 1, rules: 0, others: 2 }),
            step: 4,
        };
        let end = store.load_recent(writing.session(), &writing.run.node(leaf), &recent).await.unwrap();
        let seqs = |nodes: &[Node]| nodes.iter().map(|node| node.node_seq).collect::<Vec<_>>();
        let counts = (end.omitted_nodes, end.omitted_turns, end.nodes_before, end.nodes_pinned);
        (seqs(&end.nodes), counts, seqs(&end.earlier_words))
    };
    let all = |numbers: std::ops::RangeInclusive<u64>| numbers.collect::<Vec<_>>();
    assert_eq!(load(30, 10_000).await, ([vec![7], all(15..=30)].concat(), (13, 6, 1, 1), vec![]));
    assert_eq!(load(30, 120).await, ([vec![7], all(18..=30)].concat(), (16, 7, 1, 1), vec![15, 17]));
    assert_eq!(load(30, 40).await, ([vec![7, 20], all(27..=30)].concat(), (24, 11, 1, 2), vec![15, 23, 25]));
    // Before the second one was written the first one counts.
    assert_eq!(load(19, 10_000).await, (all(5..=19), (4, 2, 0, 0), vec![]));
    assert_eq!(load(12, 20).await, ([vec![7], all(10..=12)].concat(), (8, 4, 0, 1), vec![5, 9]));
    assert_eq!(load(11, 10_000).await, (all(1..=11), (0, 0, 0, 0), vec![]));
}

/// A summary of which the metadata cannot be read is an error that names it, as any row is.
#[tokio::test]
async fn an_unreadable_summary_is_told() {
    let place = Place::new("recent-spoilt");
    let store = place.open().await;
    let writing = Writing::begin(&store, "1").await;
    let summary =
        NodeDraft { node_type: NodeType::Compaction, ..node(writing.run.node(2), Some(writing.run.node(1)), "") };
    let writes = vec![writing.node(1, 0), Write::Node(summary), writing.node(3, 2)];
    store.commit(&writing.lease, writing.commit(writes)).await.unwrap();
    place.raw().execute("UPDATE nodes SET metadata_json = '[]' WHERE node_seq = 2", []).unwrap();
    let recent = Recent { summary: Some(NodeType::Compaction), ..Recent::default() };
    let error = store.load_recent(writing.session(), &writing.run.node(3), &recent).await.unwrap_err();
    let StoreError::CorruptRow { table, id, column, .. } = error else { panic!("{error:?}") };
    assert_eq!((table, NodeId::parse(&id).unwrap(), column.as_str()), ("nodes", writing.run.node(2), "metadata_json"));
}
