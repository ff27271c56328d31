//! The table of transitions in `docs/spec/12-tasks.md`, read as it stands there.

use std::collections::BTreeSet;

use crate::StepStatus;

const RULES: &str = include_str!("../../../../docs/spec/12-tasks.md");

/// A way from one state to another, and who may take it.
pub(super) type Transition = (StepStatus, StepStatus, Who);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Who {
    Core,
    Worker,
    Holder,
    Orchestrator,
}

fn statuses(text: &str) -> Vec<StepStatus> {
    let status = |word: &str| StepStatus::ALL.iter().copied().find(|status| status.as_str() == word.trim());
    text.split('/').map(|word| status(word).unwrap_or_else(|| panic!("\"{word}\" is no state"))).collect()
}

fn who(text: &str) -> Vec<Who> {
    let one = |word: &str| match word.trim() {
        "core" => Who::Core,
        "worker" => Who::Worker,
        "holder" => Who::Holder,
        "Orchestrator" => Who::Orchestrator,
        other => panic!("\"{other}\" is nobody"),
    };
    text.split(',').map(one).collect()
}

/// All that the rules allow.
pub(super) fn transitions() -> BTreeSet<Transition> {
    let rows = RULES.lines().filter(|line| line.starts_with('|') && line.contains(" → ")).skip(1);
    let mut all = BTreeSet::new();
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split('|').collect();
        let (from, to) = cells[0].split_once('→').unwrap();
        for from in statuses(from) {
            for to in statuses(to) {
                all.extend(who(cells[1]).into_iter().map(|who| (from, to, who)));
            }
        }
    }
    assert!(all.len() > 20, "the table was not found");
    all
}
