//! A DAG as a tree: each step once, below one of the steps that it depends on.

use std::collections::{HashMap, VecDeque};

use agent_core::archive::{StepId, StepView};

/// From so deep on, what branches begins at the left border again.
const DEEPEST: usize = 6;

/// A step, and where it stands.
pub(super) struct Node<'t> {
    pub(super) step: &'t StepView,
    /// What leads to it.
    pub(super) before: String,
    /// The same for further rows of it.
    pub(super) below: String,
    /// The lines say what it depends on: it has a branch of its own, from the one step that it depends on.
    pub(super) is_told: bool,
}

/// All steps, none before one that it depends on alone. The last one of several dependencies, in an order that respects all of them,
/// is the one that a step stands below; a step that alone stands below another goes on without a branch.
pub(super) fn nodes(steps: &[StepView]) -> Vec<Node<'_>> {
    let order = in_order(steps);
    let place: HashMap<&StepId, usize> =
        order.iter().enumerate().map(|(at, step)| (&steps[*step].step_id, at)).collect();
    let mut children = vec![Vec::new(); steps.len()];
    let mut begins: VecDeque<usize> = VecDeque::new();
    for step in &order {
        let last = steps[*step].depends_on_step_ids.iter().filter_map(|id| place.get(id)).max();
        match last {
            Some(last) => children[order[*last]].push(*step),
            None => begins.push_back(*step),
        }
    }
    let mut nodes = Vec::with_capacity(steps.len());
    while let Some(begin) = begins.pop_front() {
        let mut stack =
            vec![Place { step: begin, depth: 0, before: String::new(), below: String::new(), branches: false }];
        while let Some(Place { step, depth, before, below, branches }) = stack.pop() {
            let children = &children[step];
            match children.as_slice() {
                // Deeper, and nothing would be left of the line.
                [_, _, ..] if depth == DEEPEST => begins.extend(children),
                [only] => {
                    let (before, below) = (below.clone(), below.clone());
                    stack.push(Place { step: *only, depth, before, below, branches: false });
                }
                several => {
                    for (at, child) in several.iter().enumerate().rev() {
                        let is_last = at + 1 == several.len();
                        let before = format!("{below}{}", if is_last { "`- " } else { "|- " });
                        let below = format!("{below}{}", if is_last { "   " } else { "|  " });
                        stack.push(Place { step: *child, depth: depth + 1, before, below, branches: true });
                    }
                }
            }
            let step = &steps[step];
            nodes.push(Node { step, before, below, is_told: branches && step.depends_on_step_ids.len() == 1 });
        }
    }
    nodes
}

struct Place {
    step: usize,
    depth: usize,
    before: String,
    below: String,
    branches: bool,
}

/// An order in which each step comes behind those that it depends on; of those that could come next the one that was added first.
fn in_order(steps: &[StepView]) -> Vec<usize> {
    let place: HashMap<&StepId, usize> = steps.iter().enumerate().map(|(at, step)| (&step.step_id, at)).collect();
    let mut followers = vec![Vec::new(); steps.len()];
    let mut open = vec![0; steps.len()];
    for (at, step) in steps.iter().enumerate() {
        for on in step.depends_on_step_ids.iter().filter_map(|id| place.get(id)) {
            followers[*on].push(at);
            open[at] += 1;
        }
    }
    let mut next: VecDeque<usize> = (0..steps.len()).filter(|at| open[*at] == 0).collect();
    let mut order = Vec::with_capacity(steps.len());
    while let Some(at) = next.pop_front() {
        order.push(at);
        for follower in &followers[at] {
            open[*follower] -= 1;
            if open[*follower] == 0 {
                next.push_back(*follower);
            }
        }
    }
    order
}

#[cfg(test)]
mod tests;
