//! How much of a result there is room for. What does not fit is left for the next call, and what one step alone has too much of is
//! whole in an artifact: nothing is cut without a way to it (ART-2).

use std::fmt::Display;

use agent_redact::KnownSecrets;
use agent_tool::CallContext;
use serde_json::Value;

/// So much is kept for what stands around the parts of a result. Bytes.
const FRAME: usize = 256;

/// Room for a result.
#[derive(Clone)]
pub(super) struct Room {
    bytes: usize,
    secrets: KnownSecrets,
}

/// A text as far as there is room for it.
pub(super) struct Text {
    pub(super) text: String,
    pub(super) cut: bool,
}

impl Room {
    pub(super) fn of(context: &CallContext) -> Self {
        Self { bytes: context.result_bytes.saturating_sub(FRAME), secrets: context.secrets.clone() }
    }

    /// Where each call of a group takes as much; never less than this.
    pub(super) fn share_of(context: &CallContext, least: usize) -> Self {
        Self { bytes: context.result_share().max(least), secrets: context.secrets.clone() }
    }

    /// For a whole.
    pub(super) fn unlimited() -> Self {
        Self { bytes: usize::MAX, secrets: KnownSecrets::none() }
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// What there is beside something of this size.
    pub(super) fn beside(&self, used: usize) -> Self {
        Self { bytes: self.bytes.saturating_sub(used), secrets: self.secrets.clone() }
    }

    /// The same, but no more than this.
    pub(super) fn at_most(&self, bytes: usize) -> Self {
        Self { bytes: self.bytes.min(bytes), secrets: self.secrets.clone() }
    }

    /// A part of it.
    pub(super) fn share(&self, of: usize) -> Self {
        Self { bytes: self.bytes / of, secrets: self.secrets.clone() }
    }

    /// The beginning of a text. Secrets go first: what is left of one that was cut is found by nobody.
    pub(super) fn text(&self, text: &str) -> Text {
        // As JSON a line end or a quote takes two bytes.
        if json_len(&text.into()) <= self.bytes {
            return Text { text: text.to_owned(), cut: false };
        }
        let text = self.secrets.redact(text).text;
        let mut used = "…".len() + 2;
        let fits = text.char_indices().find(|(_, c)| {
            used += json_len(&c.to_string().into()) - 2;
            used > self.bytes
        });
        let end = fits.map_or(text.len(), |(at, _)| at);
        Text { text: format!("{}…", &text[..end]), cut: true }
    }

    /// The first of some ids, and how many were left out.
    pub(super) fn ids<T: Display>(&self, ids: impl IntoIterator<Item = T>) -> (Vec<Value>, usize) {
        let (mut shown, mut used, mut left_out) = (Vec::new(), 2, 0);
        for id in ids {
            let id = id.to_string();
            used += id.len() + 3;
            if left_out > 0 || used > self.bytes {
                left_out += 1;
            } else {
                shown.push(id.into());
            }
        }
        (shown, left_out)
    }
}

pub(super) fn json_len(value: &Value) -> usize {
    value.to_string().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(bytes: usize) -> Room {
        Room { bytes, secrets: KnownSecrets::new([("KEY", "hunter2-hunter2")]).unwrap() }
    }

    /// ART-2: a text takes no more than its room as JSON, ends between characters, and says that it was cut.
    #[test]
    fn texts_fit_as_json() {
        for text in [
            "plain words and more of them",
            "\"\n\"\n\"\n\"\n\"\n\"\n\"\n",
            "你好你好你好你好你好",
            "\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}",
        ] {
            for bytes in 6..60 {
                let Text { text: shown, cut } = room(bytes).text(text);
                assert!(json_len(&shown.as_str().into()) <= bytes.max(7), "{bytes}: {shown:?}");
                assert_eq!(cut, shown != text);
                assert!(text.starts_with(shown.trim_end_matches('…')));
            }
        }
    }

    /// STO-10: a secret at the cut is taken out before.
    #[test]
    fn a_cut_leaves_no_half_of_a_secret() {
        for bytes in 8..40 {
            let shown = room(bytes).text("the key is hunter2-hunter2, and there is more to say").text;
            assert!(!shown.contains("hunter2"), "{bytes}: {shown}");
        }
    }

    /// TSK-15: of many ids the first are shown and the others counted.
    #[test]
    fn ids_fit() {
        let (shown, left_out) = room(30).ids(["aaaaaaa", "bbbbbbb", "ccccccc", "d"]);
        assert_eq!((shown, left_out), (vec!["aaaaaaa".into(), "bbbbbbb".into()], 2));
        assert_eq!(room(30).ids(Vec::<String>::new()), (Vec::new(), 0));
    }
}
