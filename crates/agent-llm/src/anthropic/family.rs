//! What models are known to take. Refusals teach the rest (see [`Learned`](super::learned::Learned)); this only saves the first
//! one.

/// What differs between models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Family {
    /// Temperature and the like.
    pub(super) sampling: bool,
    /// Thinking with a budget; where not, only adaptive thinking.
    pub(super) budgets: bool,
}

/// Parts of the names of models from before adaptive thinking became the only kind.
const OLDER: [&str; 11] = [
    "claude-2",
    "claude-3",
    "claude-instant",
    "sonnet-4-0",
    "opus-4-0",
    "opus-4-1",
    "-4-5",
    "-4-6",
    "sonnet-4-20",
    "opus-4-20",
    "-4@",
];

impl Family {
    /// By name. An unknown Claude counts as one of the newest; anything else takes what the protocol has.
    pub(super) fn of(model: &str) -> Self {
        let name = model.to_ascii_lowercase();
        let newest = name.contains("claude") && !OLDER.iter().any(|part| name.contains(part));
        Self { sampling: !newest, budgets: !newest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which models take a temperature and a budget.
    #[test]
    fn names_tell() {
        for (model, older) in [
            ("claude-3-7-sonnet-20250219", true),
            ("claude-sonnet-4-20250514", true),
            ("anthropic.claude-opus-4-1-20250805-v1:0", true),
            ("claude-haiku-4-5", true),
            ("claude-opus-4-6", true),
            ("claude-opus-4-7", false),
            ("claude-sonnet-5", false),
            ("Claude-Opus-5-20260701", false),
            ("claude-brand-new", false),
            ("qwen2.5-coder", true),
        ] {
            assert_eq!(Family::of(model), Family { sampling: older, budgets: older }, "{model}");
        }
    }
}
