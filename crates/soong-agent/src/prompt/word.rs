//! The words that answer a question (CLI-3).

use agent_core::PermissionDecision;
use agent_core::permission::DecisionKind;

/// What can be typed for each decision, in small letters; the first two of each are what people are told of.
const WORDS: [(DecisionKind, &[&str]); 3] = [
    (DecisionKind::AllowOnce, &["allow once", "1", "y"]),
    (DecisionKind::AllowForSession, &["allow for session", "2"]),
    (DecisionKind::Deny, &["deny", "3", "n"]),
];

/// What there is to answer, for somebody who answered something else.
pub(super) const ANSWERS: &str = "1 or y (allow once), 2 (allow for session), 3 or n (deny)";

/// The words that would have been typed for a decision.
pub(crate) fn of(decision: DecisionKind) -> &'static str {
    let words = WORDS.iter().find(|(kind, _)| *kind == decision).and_then(|(_, words)| words.first());
    words.copied().unwrap_or(decision.as_str())
}

/// The decision behind a line, if it is an answer: one of the words, or a denial followed by its reason.
pub(super) fn read(line: &str) -> Option<PermissionDecision> {
    let line = line.trim();
    let typed = line.to_ascii_lowercase();
    if let Some((kind, _)) = WORDS.iter().find(|(_, words)| words.contains(&typed.as_str())) {
        return Some(PermissionDecision::new(*kind));
    }
    let (word, reason) = line.split_once(char::is_whitespace)?;
    let word = word.trim_end_matches([',', ':', '.', ';']).to_ascii_lowercase();
    let denies = WORDS.iter().any(|(kind, words)| *kind == DecisionKind::Deny && words.contains(&word.as_str()));
    denies.then(|| {
        let mut decision = PermissionDecision::new(DecisionKind::Deny);
        decision.reason = Some(format!("the user said no: {}", reason.trim_start()));
        decision
    })
}

/// Whether a line that has not come whole may yet become an answer.
pub(super) fn begins(line: &str) -> bool {
    let typed = line.trim_start().to_ascii_lowercase();
    WORDS.iter().any(|(_, words)| words.iter().any(|word| word.starts_with(typed.as_str()))) || read(line).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FND-62, CLI-3: numbers, words, `y` and `n`; a denial may say why, and the reason goes to the model as it was typed.
    #[test]
    fn words() {
        use DecisionKind::{AllowForSession, AllowOnce, Deny};
        for (line, decision, reason) in [
            ("1", Some(AllowOnce), None),
            ("y", Some(AllowOnce), None),
            (" Y \r", Some(AllowOnce), None),
            ("ALLOW ONCE", Some(AllowOnce), None),
            ("2", Some(AllowForSession), None),
            ("allow for session", Some(AllowForSession), None),
            ("3", Some(Deny), None),
            ("n", Some(Deny), None),
            ("N\r", Some(Deny), None),
            ("deny", Some(Deny), None),
            ("3 Use Tabs  here", Some(Deny), Some("the user said no: Use Tabs  here")),
            ("3, it is too big", Some(Deny), Some("the user said no: it is too big")),
            ("n: not now", Some(Deny), Some("the user said no: not now")),
            ("deny that is production", Some(Deny), Some("the user said no: that is production")),
            ("", None, None),
            ("yes", None, None),
            ("4", None, None),
            ("1 please", None, None),
            ("y es", None, None),
            ("2 3", None, None),
            ("33 files", None, None),
            ("no", None, None),
            ("allow", None, None),
        ] {
            let read = read(line);
            assert_eq!(read.as_ref().map(|read| read.decision), decision, "{line:?}");
            assert_eq!(read.and_then(|read| read.reason).as_deref(), reason, "{line:?}");
        }
    }

    /// CLI-3: what is said to have been answered could have been typed.
    #[test]
    fn words_can_be_typed() {
        for kind in [DecisionKind::AllowOnce, DecisionKind::AllowForSession, DecisionKind::Deny] {
            let decision = read(of(kind)).unwrap();
            assert_eq!((decision.decision, decision.reason), (kind, None));
        }
    }

    #[test]
    fn beginnings() {
        for line in ["", " ", "a", "Allow on", "allow for sess", "d", "3 becau", "1"] {
            assert!(begins(line), "{line:?}");
        }
        for line in ["x", "allow o f", "1a", "src/main.rs", "denying"] {
            assert!(!begins(line), "{line:?}");
        }
    }
}
