//! A path whose older part was not loaded.

use agent_protocol::{ToolCall, ToolResultBlock};

use super::testing::sources;
use super::world_testing::Dice;
use super::*;
use crate::{Omitted, Sayings, compose};

fn draft(number: usize, role: Role, node_type: NodeType, content: Vec<ContentBlock>) -> NodeDraft {
    NodeDraft {
        node_id: NodeId::parse(&format!("node_{number}")).unwrap(),
        parent_id: None,
        role,
        node_type,
        token_count: TokenCounter.message(&content),
        content: content.into(),
        metadata: Object::new(),
    }
}

/// Messages, replies with their results, and skills among them; with the places where groups begin.
fn history(dice: &mut Dice, nodes: &mut Vec<NodeDraft>) -> Vec<usize> {
    let mut borders = Vec::new();
    for group in 0..8 + dice.roll(8) {
        borders.push(nodes.len());
        let text = |what: &str| vec![ContentBlock::text(format!("{what} {group}"))];
        let number = nodes.len();
        match dice.roll(5) {
            0 => nodes.push(draft(number, Role::User, NodeType::SkillContext, text("skill"))),
            1 => nodes.push(draft(number, Role::User, NodeType::Message, text("say"))),
            _ => {
                let ids: Vec<_> =
                    (0..dice.roll(3)).map(|call| ToolCallId::parse(&format!("call_{group}_{call}")).unwrap()).collect();
                let calls = ids.iter().map(|id| {
                    ContentBlock::ToolCall(ToolCall {
                        tool_call_id: id.clone(),
                        name: "look".into(),
                        arguments: Object::new(),
                        metadata: Object::new(),
                    })
                });
                let content = text("reply").into_iter().chain(calls).collect();
                nodes.push(draft(number, Role::Assistant, NodeType::Message, content));
                for id in ids {
                    let result = ToolResultBlock {
                        tool_call_id: id,
                        is_error: false,
                        content: text("result"),
                        error: None,
                        metadata: Object::new(),
                    };
                    let content = vec![ContentBlock::ToolResult(result)];
                    nodes.push(draft(nodes.len(), Role::Tool, NodeType::Message, content));
                }
            }
        }
    }
    borders
}

fn path(omitted: Omitted, nodes: &[NodeDraft]) -> Path {
    let mut path = Path::without(omitted, []);
    nodes.iter().for_each(|node| path.push(node));
    path
}

/// PERF-5, STO-11, CTX-4: a request made from the newer part of a path is the one that the whole path gives, marker, pinned
/// nodes and report included.
#[test]
fn the_older_part_need_not_be_there() {
    let mut marked = 0;
    for world in 0..500 {
        let mut dice = Dice::of_world(world);
        let mut nodes = Vec::new();
        let borders = history(&mut dice, &mut nodes);
        nodes.push(draft(nodes.len(), Role::User, NodeType::Message, vec![ContentBlock::text("now")]));
        let cut = borders[dice.roll(borders.len() as u64) as usize];
        let later: Vec<_> = borders.iter().filter(|border| **border >= cut).collect();
        let kept_from = *later[dice.roll(later.len() as u64) as usize];

        let is_pinned = |node: &NodeDraft| node.node_type == NodeType::SkillContext;
        let (older, newer) = nodes.split_at(cut);
        let gone: Vec<_> = older.iter().filter(|node| !is_pinned(node)).collect();
        let omitted = Omitted {
            nodes: gone.len(),
            turns: gone.iter().filter(|node| node.role == Role::Assistant).count(),
            at: older.iter().take_while(|node| is_pinned(node)).count(),
            pinned: older.iter().filter(|node| is_pinned(node)).count(),
            is_past_summary: false,
        };
        let loaded: Vec<_> = older.iter().filter(|node| is_pinned(node)).chain(newer).cloned().collect();
        let pinned = older.len() - gone.len();
        let said = gone.iter().filter(|node| node.node_type == NodeType::Message && node.role == Role::User);
        let said = said.map(|node| (node.node_id.clone(), node.content[0].as_text().unwrap().to_owned()));
        let earlier_words = Sayings::default().and(said, 10_000);

        let sources = sources(100_000);
        let whole = compose(
            &path(Omitted::default(), &nodes),
            &sources,
            Window { first_kept: kept_from, squeeze: 0 },
            Calibration::default(),
        );
        let part = path(omitted, &loaded).with_earlier_words(earlier_words);
        let window = Window { first_kept: kept_from - cut + pinned, squeeze: 0 };
        let part = compose(&part, &sources, window, Calibration::default());
        let (whole, part) = (whole.unwrap(), part.unwrap());
        assert_eq!(part, whole, "world {world}, cut at {cut}");
        marked += usize::from(whole.1.turns_out > 0);
    }
    assert!(marked > 200, "{marked}: the worlds are too tame");
}
