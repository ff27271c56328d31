//! Token counts are estimates (CTX-7): no provider's tokenizer is in here, the provider's own count corrects the estimate.

use std::sync::Arc;

use agent_protocol::{ContentBlock, CountLevel, ModelMessage, Reply};

/// A message and its estimated tokens.
pub(crate) type Weighed = (Arc<ModelMessage>, u64);

/// Estimates how many tokens a text costs.
///
/// The estimate looks at bytes and character classes: about four bytes of ASCII make a token, a wide character (CJK, emoji)
/// about one. It is within a third of the common vocabularies on source code and English; the rest is [`Calibration`].
#[derive(Debug, Clone, Copy, Default)]
pub struct TokenCounter;

/// What a message costs beyond its text: role, separators.
const PER_MESSAGE: u64 = 4;
/// What a call costs beyond its name and arguments: id, braces.
const PER_CALL: u64 = 12;

impl TokenCounter {
    /// Estimated tokens of a text.
    #[must_use]
    pub fn text(self, text: &str) -> u64 {
        let ascii = text.bytes().filter(u8::is_ascii).count() as u64;
        // Continuation bytes are 0b10xxxxxx; every other non-ASCII byte starts a character.
        let starts = text.bytes().filter(|b| *b >= 0xC0).count() as u64;
        ascii.div_ceil(4) + starts
    }

    /// Estimated tokens of a message made of these blocks.
    #[must_use]
    pub fn message(self, blocks: &[ContentBlock]) -> u64 {
        PER_MESSAGE + blocks.iter().map(|block| self.block(block)).sum::<u64>()
    }

    /// Estimated tokens that a model wrote for this reply, its reasoning included.
    pub(crate) fn reply(self, reply: &Reply) -> u64 {
        let reasoning = reply.metadata.get(ModelMessage::REASONING).map_or(0, |reasoning| self.value(reasoning));
        let content: u64 = reply.content.iter().map(|block| self.block(block)).sum();
        match content + reasoning {
            0 => 0,
            written => written + PER_MESSAGE,
        }
    }

    fn block(self, block: &ContentBlock) -> u64 {
        match block {
            ContentBlock::ToolCall(call) => {
                PER_CALL
                    + self.text(&call.name)
                    + call.arguments.iter().map(|(k, v)| self.text(k) + self.value(v)).sum::<u64>()
            }
            ContentBlock::ToolResult(result) => {
                PER_CALL + result.content.iter().map(|inner| self.block(inner)).sum::<u64>()
            }
            ContentBlock::Text(block) => self.text(&block.text),
            ContentBlock::Json(block) => {
                block.data.as_ref().map_or(0, |data| self.value(data))
                    + block.summary.as_ref().map_or(0, |summary| self.text(summary))
            }
            ContentBlock::ArtifactRef(artifact) => {
                PER_CALL + artifact.summary.as_ref().map_or(0, |summary| self.text(summary))
            }
        }
    }

    /// Estimated tokens of a JSON value, without serialising it.
    pub(crate) fn value(self, value: &serde_json::Value) -> u64 {
        use serde_json::Value;
        match value {
            Value::Null | Value::Bool(_) => 1,
            Value::Number(_) => 2,
            Value::String(text) => 1 + self.text(text),
            Value::Array(items) => 1 + items.iter().map(|item| self.value(item)).sum::<u64>(),
            Value::Object(fields) => {
                1 + fields.iter().map(|(key, field)| 1 + self.text(key) + self.value(field)).sum::<u64>()
            }
        }
    }
}

/// What a model's counts have taught: how far the estimate is off, as the ratio of the provider's count to ours over the last calls; the
/// window, where the provider said that it is smaller; and the count that prompts seem to be cut to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Calibration {
    ratio: f64,
    window: Option<u64>,
    level: Option<CountLevel>,
}

impl Default for Calibration {
    fn default() -> Self {
        Self { ratio: 1.0, window: None, level: None }
    }
}

impl Calibration {
    /// Weight of the newest call; about the last five calls matter.
    const WEIGHT: f64 = 0.3;
    /// A ratio outside this range says more about a broken count (cached tokens left out, a truncated prompt) than about
    /// our estimate.
    const RANGE: (f64, f64) = (0.5, 3.0);
    /// A smaller window is no model's: what said so meant something else.
    const LEAST_WINDOW: u64 = 512;

    /// One that was learned before.
    #[must_use]
    pub fn of(ratio: f64) -> Self {
        let ratio = if ratio.is_finite() { ratio.clamp(Self::RANGE.0, Self::RANGE.1) } else { 1.0 };
        Self { ratio, ..Self::default() }
    }

    /// The same with what an earlier run has learned besides.
    #[must_use]
    pub fn with(self, window: Option<u64>, level: Option<CountLevel>) -> Self {
        Self { window: window.filter(|window| *window >= Self::LEAST_WINDOW), level, ..self }
    }

    /// The window that the provider named, if it is smaller than the one that was configured.
    #[must_use]
    pub fn window(self) -> Option<u64> {
        self.window
    }

    /// The count that the last prompts had.
    #[must_use]
    pub fn level(self) -> Option<CountLevel> {
        self.level
    }

    /// A refusal named the most it takes, and how much that prompt was.
    pub(crate) fn learn_window(&mut self, limit: Option<u64>, requested: Option<u64>, known: u64) {
        let is_refused = |limit: &u64| requested.is_none_or(|requested| requested > *limit);
        let limit = limit.filter(|limit| (Self::LEAST_WINDOW..known).contains(limit)).filter(is_refused);
        self.window = limit.or(self.window);
    }

    /// Whether a count is what it was for a clearly shorter prompt. A prompt with such a count is remembered as the shortest one.
    pub(crate) fn stays_while_prompts_grow(&mut self, estimated: u64, counted: u64) -> bool {
        let is_same = |level: &CountLevel| level.counted.abs_diff(counted) <= level.counted / 100;
        let Some(level) = self.level.filter(is_same) else {
            self.level = Some(CountLevel { estimated, counted });
            return false;
        };
        self.level = Some(CountLevel { estimated: level.estimated.min(estimated), ..level });
        estimated > level.estimated + level.estimated / 10
    }

    /// Takes in one call. Counts that are missing or tiny teach nothing.
    pub fn observe(&mut self, estimated: u64, counted: Option<u64>) {
        let Some(counted) = counted.filter(|counted| *counted >= 64) else { return };
        if estimated < 64 {
            return;
        }
        let seen = (counted as f64 / estimated as f64).clamp(Self::RANGE.0, Self::RANGE.1);
        self.ratio += Self::WEIGHT * (seen - self.ratio);
    }

    /// The estimate, corrected.
    #[must_use]
    pub fn apply(self, estimated: u64) -> u64 {
        (estimated as f64 * self.ratio).ceil() as u64
    }

    /// How many estimated tokens fit into this many real ones.
    #[must_use]
    pub fn fits(self, tokens: u64) -> u64 {
        (tokens as f64 / self.ratio) as u64
    }

    /// The correction itself; 1 means that the estimate is right.
    #[must_use]
    pub fn ratio(self) -> f64 {
        self.ratio
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_estimated_by_character_class() {
        let count = |text| TokenCounter.text(text);
        assert_eq!(count(""), 0);
        assert_eq!(count("abcd"), 1);
        assert_eq!(count("你好"), 2);
        assert_eq!(count("🛡"), 1);
        assert_eq!(count(&"x".repeat(400)), 100);
    }

    /// CTX-7: usage calibrates the estimate and never overwrites it.
    #[test]
    fn usage_calibrates() {
        let mut calibration = Calibration::default();
        assert_eq!(calibration.apply(1000), 1000);
        for _ in 0..30 {
            calibration.observe(1000, Some(1500));
        }
        assert!((calibration.ratio() - 1.5).abs() < 0.01);
        assert!((Calibration::of(calibration.ratio()).ratio() - calibration.ratio()).abs() < 1e-9);
        assert_eq!((Calibration::of(f64::NAN).ratio(), Calibration::of(100.0).ratio()), (1.0, 3.0));
        // A count that is missing, tiny or absurd does not ruin it.
        calibration.observe(1000, None);
        calibration.observe(1000, Some(3));
        assert!((calibration.ratio() - 1.5).abs() < 0.01);
        calibration.observe(1000, Some(1_000_000));
        assert!(calibration.ratio() < 2.0);
    }
}
