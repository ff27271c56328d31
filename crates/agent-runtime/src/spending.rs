//! What the runs of a tree have used, told by each of them as it goes: one sum and one limit for the user's run and all below it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_engine::OthersSpent;
use agent_protocol::TreeUsage;

/// What one run and those below it have used.
#[derive(Debug, Default)]
pub(crate) struct Spending {
    above: Option<Arc<Spending>>,
    sums: Mutex<Sums>,
}

#[derive(Debug, Default)]
struct Sums {
    own: TreeUsage,
    below: TreeUsage,
}

impl Spending {
    /// Of the user's run.
    pub(crate) fn of_root() -> Arc<Self> {
        Arc::default()
    }

    /// Of a child agent's run.
    pub(crate) fn of_child(above: &Arc<Self>) -> Arc<Self> {
        above.add_below(&TreeUsage { children: 1, ..TreeUsage::default() });
        Self::of_part(above)
    }

    /// Of a run that is part of another one's work: no agent that anybody sent.
    pub(crate) fn of_part(above: &Arc<Self>) -> Arc<Self> {
        Arc::new(Self { above: Some(Arc::clone(above)), sums: Mutex::default() })
    }

    fn sums(&self) -> MutexGuard<'_, Sums> {
        self.sums.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The run has used this much so far.
    pub(crate) fn tell(&self, own: TreeUsage) {
        let more = {
            let mut sums = self.sums();
            if own == sums.own {
                return;
            }
            let cost = own.cost.map(|cost| cost - sums.own.cost.unwrap_or(0.0));
            let more =
                TreeUsage { children: 0, usage: own.usage.since(&sums.own.usage), cost, is_estimate: own.is_estimate };
            sums.own = own;
            more
        };
        if let Some(above) = &self.above {
            above.add_below(&more);
        }
    }

    fn add_below(&self, more: &TreeUsage) {
        self.sums().below.add(more);
        if let Some(above) = &self.above {
            above.add_below(more);
        }
    }

    /// What other runs have used.
    pub(crate) fn others(&self) -> OthersSpent {
        let below = self.sums().below.clone();
        let mut others = below.clone();
        // Each further up has what it used itself, and what others below it did.
        let mut here = self;
        while let Some(above) = &here.above {
            let (own, beside) = {
                let sums = above.sums();
                (sums.own.clone(), less(&sums.below, &here.whole()))
            };
            others.add(&own);
            others.add(&beside);
            here = above;
        }
        OthersSpent { others, below }
    }

    /// The run and all below it.
    pub(crate) fn whole(&self) -> TreeUsage {
        let sums = self.sums();
        let mut whole = sums.own.clone();
        whole.add(&sums.below);
        whole
    }
}

/// A sum without a part of it.
fn less(sum: &TreeUsage, part: &TreeUsage) -> TreeUsage {
    TreeUsage {
        children: sum.children.saturating_sub(part.children),
        usage: sum.usage.since(&part.usage),
        cost: sum.cost.map(|cost| (cost - part.cost.unwrap_or(0.0)).max(0.0)),
        is_estimate: sum.is_estimate,
    }
}

#[cfg(test)]
mod tests {
    use agent_protocol::Usage;
    use proptest::prelude::*;

    use super::*;

    fn used(tokens: u64, cost: Option<f64>) -> TreeUsage {
        let usage = Usage { input_tokens: Some(tokens), total_tokens: Some(tokens), ..Usage::default() };
        TreeUsage { children: 0, usage, cost, is_estimate: false }
    }

    fn tokens(of: &TreeUsage) -> u64 {
        of.usage.total_tokens.unwrap_or(0)
    }

    proptest! {
        /// AGT-C10: whatever tree there is and whoever uses how much when, what a run and the others have used is the sum of all, what
        /// is below a run is what the runs below it used, and nobody is counted twice.
        #[test]
        fn the_sum_is_that_of_all(
            parents in proptest::collection::vec(any::<prop::sample::Index>(), 0..8),
            steps in proptest::collection::vec((any::<prop::sample::Index>(), 0..1_000_u64), 0..40),
        ) {
            let mut runs = vec![(Spending::of_root(), 0_usize, 0_u64)];
            for parent in parents {
                let at = parent.index(runs.len());
                let run = Spending::of_child(&runs[at].0);
                runs.push((run, at, 0));
            }
            for (run, more) in steps {
                let at = run.index(runs.len());
                runs[at].2 += more;
                runs[at].0.tell(used(runs[at].2, Some(runs[at].2 as f64)));
            }
            let all: u64 = runs.iter().map(|(.., own)| own).sum();
            let is_below = |mut run: usize, top: usize| {
                while run != top && run != 0 {
                    run = runs[run].1;
                }
                run == top
            };
            for (at, (run, _, own)) in runs.iter().enumerate() {
                let below: Vec<_> = (0..runs.len()).filter(|other| *other != at && is_below(*other, at)).collect();
                let sum: u64 = below.iter().map(|other| runs[*other].2).sum();
                let heard = run.others();
                prop_assert_eq!(tokens(&heard.below), sum);
                prop_assert_eq!(heard.below.children as usize, below.len());
                prop_assert_eq!(tokens(&heard.others), all - own);
                prop_assert_eq!(tokens(&run.whole()), own + sum);
                prop_assert!((run.whole().cost.unwrap_or(0.0) - (own + sum) as f64).abs() < 1e-6);
            }
        }
    }

    /// What has no price adds nothing to what the others cost; what is estimated anywhere is told of the whole.
    #[test]
    fn what_is_not_known_stays_so() {
        let root = Spending::of_root();
        let (priced, free) = (Spending::of_child(&root), Spending::of_child(&root));
        free.tell(TreeUsage { is_estimate: true, ..used(10, None) });
        assert_eq!((root.whole().cost, root.whole().is_estimate), (None, true));
        priced.tell(used(5, Some(2.5)));
        assert_eq!((root.whole().cost, tokens(&root.whole())), (Some(2.5), 15));
        let part = Spending::of_part(&priced);
        part.tell(used(1, Some(1.0)));
        assert_eq!((priced.whole().cost, root.whole().children), (Some(3.5), 2));
    }
}
