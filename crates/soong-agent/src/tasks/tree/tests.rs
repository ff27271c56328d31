use std::collections::HashSet;

use agent_core::archive::StepStatus;

use super::*;
use crate::tasks::made_up::{Dice, random, step};

fn drawn(steps: &[&str]) -> Vec<String> {
    let steps: Vec<_> = steps.iter().map(|text| step(text, StepStatus::Pending)).collect();
    nodes(&steps)
        .iter()
        .map(|node| format!("{}{}{}", node.before, node.step.step_id, if node.is_told { "" } else { "*" }))
        .collect()
}

/// A chain needs no branches; what branches is set in; a step with several dependencies stands once, below the last of them.
#[test]
fn branches() {
    assert_eq!(drawn(&["a", "b<a", "c<b"]), ["a*", "b*", "c*"]);
    let diamond = ["a", "b<a", "c<a", "d<b,c", "e<d", "f"];
    assert_eq!(drawn(&diamond), ["a*", "|- b", "`- c", "   d*", "   e*", "f*"]);
    let wide = ["a", "b<a", "c<b", "d<b", "e<a"];
    assert_eq!(drawn(&wide), ["a*", "|- b", "|  |- c", "|  `- d", "`- e"]);
}

/// Each step stands once, however the DAG looks; lines never get deeper than they may; who is said to depend on what stands above it does.
#[test]
fn every_step_once() {
    let mut dice = Dice(9);
    for _ in 0..200 {
        let view = random(1 + dice.below(100), &mut dice);
        let nodes = nodes(&view.steps);
        let ids: HashSet<_> = nodes.iter().map(|node| node.step.step_id.as_str()).collect();
        assert_eq!((nodes.len(), ids.len()), (view.steps.len(), view.steps.len()));
        for (at, node) in nodes.iter().enumerate() {
            assert!(node.before.len() <= 3 * DEEPEST && node.before.len() == node.below.len());
            if node.is_told {
                let [on] = node.step.depends_on_step_ids.as_slice() else { panic!("{:?}", node.step) };
                let lines = node.before.len() - 3;
                // Going on without a branch keeps the place: the nearest above that is set in less is what it hangs on.
                let above = nodes[..at].iter().rev().find(|above| above.before.len() <= lines).unwrap();
                assert_eq!(above.step.step_id, *on);
            }
        }
    }
}
