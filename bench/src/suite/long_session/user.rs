//! What the user says in a long session.

use super::size::skewed;
use crate::words::Words;

/// The first thing the user says, which every request must hold word for word.
pub(super) const CONSTRAINT: &str = "Never touch the folder vendor.";

/// Says one thing after another, the same each time.
pub(super) struct User {
    dice: Words,
    said: usize,
    /// Rules and corrections so far, in order.
    pub(super) rules: Vec<String>,
}

impl User {
    pub(super) fn new() -> Self {
        Self { dice: Words(11), said: 0, rules: Vec::new() }
    }

    pub(super) fn next_message(&mut self) -> String {
        self.said += 1;
        let said = self.said;
        if said == 1 {
            return format!("{CONSTRAINT} Look through the files in data and tell me what is in them.");
        }
        match self.dice.number(20) {
            0 => self.rule(format!("From now on always name the line numbers of part {said}.")),
            1 => self.rule(format!("No, that is wrong: part {said} must be read from its end.")),
            2 => {
                let rule = self.rule(format!("Please keep the notes on part {said} in English."));
                format!("{rule} Then go on.")
            }
            // Something pasted.
            3 => format!("This is what I found in part {said}:\n{}", self.text(300, 6_000)),
            _ => format!("Go on with part {said}: {}", self.text(20, 300)),
        }
    }

    fn rule(&mut self, rule: String) -> String {
        self.rules.push(rule.clone());
        rule
    }

    fn text(&mut self, least: usize, most: usize) -> String {
        let bytes = skewed(&mut self.dice, least, most);
        let mut text = String::new();
        while text.len() < bytes {
            text.push_str(self.dice.next_word());
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The session is the same each time, begins with the constraint and goes on with rules among other things.
    #[test]
    fn a_user_says_the_same_each_time() {
        let (mut one, mut other) = (User::new(), User::new());
        let said: Vec<_> = (0..300).map(|_| one.next_message()).collect();
        assert!(said[0].starts_with(CONSTRAINT));
        assert_eq!(said, (0..300).map(|_| other.next_message()).collect::<Vec<_>>());
        assert!((30..60).contains(&one.rules.len()), "{}", one.rules.len());
        assert!(said[1..].iter().all(|text| !text.contains(CONSTRAINT)));
    }
}
