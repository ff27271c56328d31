//! What is to be drawn of the dependencies.

use std::collections::HashMap;

use agent_core::archive::{StepId, StepView};

/// Steps by their number, and the arrows between them.
#[derive(Debug)]
pub(super) struct Graph {
    /// From a step to one that depends on it, in the order of the latter.
    pub(super) arrows: Vec<(usize, usize)>,
    /// How many dependencies follow from others, so that they have no arrow.
    pub(super) implied: usize,
    /// Steps that hang together, in the order in which they were added.
    pub(super) parts: Vec<Vec<usize>>,
    /// How deep each step lies: behind the longest chain that leads to it.
    pub(super) depth: Vec<usize>,
}

impl Graph {
    pub(super) fn of(steps: &[StepView]) -> Self {
        let number: HashMap<&StepId, usize> = steps.iter().enumerate().map(|(at, step)| (&step.step_id, at)).collect();
        let on = |step: &StepView| -> Vec<usize> {
            step.depends_on_step_ids.iter().filter_map(|id| number.get(id).copied()).collect()
        };
        let depends_on: Vec<Vec<usize>> = steps.iter().map(on).collect();
        let order = in_order(&depends_on);
        let mut depth = vec![0; steps.len()];
        for &step in &order {
            depth[step] = depends_on[step].iter().map(|on| depth[*on] + 1).max().unwrap_or(0);
        }
        let (kept, implied) = without_implied(&depends_on, &order);
        let arrows: Vec<_> =
            kept.iter().enumerate().flat_map(|(to, from)| from.iter().map(move |from| (*from, to))).collect();
        let parts = parts(steps.len(), &arrows);
        Self { arrows, implied, parts, depth }
    }

    /// How many places a layout in rows needs at most: one for each step, and one for each row that an arrow goes past.
    pub(super) fn places(&self) -> usize {
        let past = self.arrows.iter().map(|(from, to)| self.depth[*to] - self.depth[*from] - 1);
        self.depth.len() + past.sum::<usize>()
    }
}

/// Each step behind those that it depends on.
fn in_order(depends_on: &[Vec<usize>]) -> Vec<usize> {
    let mut followers = vec![Vec::new(); depends_on.len()];
    let mut open: Vec<usize> = depends_on.iter().map(Vec::len).collect();
    for (step, on) in depends_on.iter().enumerate() {
        on.iter().for_each(|on| followers[*on].push(step));
    }
    let mut order: Vec<usize> = (0..depends_on.len()).filter(|step| open[*step] == 0).collect();
    let mut next = 0;
    while let Some(step) = order.get(next).copied() {
        next += 1;
        for follower in &followers[step] {
            open[*follower] -= 1;
            if open[*follower] == 0 {
                order.push(*follower);
            }
        }
    }
    order
}

/// What each step depends on, but for what it depends on through others as well; and how many dependencies that leaves out.
fn without_implied(depends_on: &[Vec<usize>], order: &[usize]) -> (Vec<Vec<usize>>, usize) {
    let words = depends_on.len().div_ceil(64);
    let mut place = vec![0; depends_on.len()];
    order.iter().enumerate().for_each(|(at, step)| place[*step] = at);
    // All that a step depends on, near and far, as bits.
    let mut behind: Vec<Vec<u64>> = vec![vec![0; words]; depends_on.len()];
    let mut kept = vec![Vec::new(); depends_on.len()];
    let mut implied = 0;
    for &step in order {
        let mut nearest_first = depends_on[step].clone();
        nearest_first.sort_by_key(|on| std::cmp::Reverse(place[*on]));
        let mut all = vec![0; words];
        for on in nearest_first {
            if all[on / 64] & (1 << (on % 64)) != 0 {
                implied += 1;
                continue;
            }
            all[on / 64] |= 1 << (on % 64);
            all.iter_mut().zip(&behind[on]).for_each(|(all, more)| *all |= more);
            kept[step].push(on);
        }
        kept[step].sort_unstable();
        behind[step] = all;
    }
    (kept, implied)
}

fn parts(steps: usize, arrows: &[(usize, usize)]) -> Vec<Vec<usize>> {
    let mut of: Vec<usize> = (0..steps).collect();
    fn root(of: &mut [usize], step: usize) -> usize {
        let mut step = step;
        while of[step] != step {
            of[step] = of[of[step]];
            step = of[step];
        }
        step
    }
    for (from, to) in arrows {
        let (one, other) = (root(&mut of, *from), root(&mut of, *to));
        // The first step of a part stands for it.
        of[one.max(other)] = one.min(other);
    }
    let mut parts: Vec<Vec<usize>> = vec![Vec::new(); steps];
    for step in 0..steps {
        let part = root(&mut of, step);
        parts[part].push(step);
    }
    parts.retain(|part| !part.is_empty());
    parts
}
