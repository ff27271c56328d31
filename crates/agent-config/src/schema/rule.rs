//! What may be asked of a value beyond its type.

use crate::nearest::nearest;

/// Bounds of a whole number, both included.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Whole {
    pub(crate) min: u64,
    pub(crate) max: u64,
    /// What is counted, in the plural; empty for a plain number.
    pub(crate) unit: &'static str,
}

/// Bounds of a number with a fraction, both included.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Real {
    pub(crate) min: f64,
    pub(crate) max: f64,
}

/// What is asked of a string.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Text {
    /// The rule in words, as they follow "expected".
    pub(crate) noun: &'static str,
    pub(crate) check: fn(&str) -> Result<(), Refusal>,
}

/// What the message says was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The string itself.
    Shown,
    /// These words instead of the string, because it may hold a secret or because they say more.
    Said(&'static str),
    /// The string, and the one of these that is nearest to it.
    NoneOf(&'static [&'static str]),
}

impl Refusal {
    /// What was found, in words; none where it is the string as it stands.
    pub(crate) fn found(self, text: &str) -> Option<String> {
        match self {
            Self::Shown => None,
            Self::Said(words) => Some(words.to_owned()),
            Self::NoneOf(known) => Some(match nearest(text, known.iter().copied()) {
                Some(meant) => format!("`{text}`, which does not exist; did you mean `{meant}`?"),
                None => format!("`{text}`, which does not exist; there are {}", known.join(", ")),
            }),
        }
    }
}

/// What is asked of a boolean.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) enum Switch {
    #[default]
    Either,
    /// Only `true`; the words say why.
    OnlyTrue(&'static str),
}

impl Default for Whole {
    fn default() -> Self {
        number(0, i64::MAX.unsigned_abs())
    }
}

impl Default for Real {
    fn default() -> Self {
        real(f64::MIN, f64::MAX)
    }
}

impl Default for Text {
    fn default() -> Self {
        Text { noun: "a string", check: |_| Ok(()) }
    }
}

impl Whole {
    pub(crate) fn noun(self) -> String {
        match self.unit {
            "" => "a whole number".to_owned(),
            unit => format!("a whole number of {unit}"),
        }
    }

    pub(crate) fn bounded(self) -> String {
        format!("{} from {} to {}", self.noun(), self.min, self.max)
    }
}

pub(crate) const fn number(min: u64, max: u64) -> Whole {
    count(min, max, "")
}

pub(crate) const fn count(min: u64, max: u64, unit: &'static str) -> Whole {
    Whole { min, max, unit }
}

/// Token counts up to ten million, beyond any context window there is.
pub(crate) const fn tokens(min: u64) -> Whole {
    count(min, 10_000_000, "tokens")
}

/// Times from `min` to a day.
pub(crate) const fn millis(min: u64) -> Whole {
    count(min, 86_400_000, "milliseconds")
}

/// Sizes of what is held in memory: up to 16 MiB.
pub(crate) const fn bytes(min: u64) -> Whole {
    count(min, 16 << 20, "bytes")
}

pub(crate) const fn real(min: f64, max: f64) -> Real {
    Real { min, max }
}

/// `"a", "b" or "c"`, with what kind of thing that is when there is but one.
pub(crate) fn one_of(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
    match quoted.split_last() {
        None => String::new(),
        Some((only, [])) => format!("the string {only}, the only one allowed"),
        Some((last, first)) => format!("{} or {last}", first.join(", ")),
    }
}
