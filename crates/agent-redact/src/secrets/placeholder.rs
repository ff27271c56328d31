//! Placeholders that stand for known values, and texts that only look like them.

use std::sync::Arc;

/// Follows the name in a question where the very words stand there, and no value.
const AS_TEXT: &str = " as text";

/// The texts that may stand in the place of a value, and how many values and forms each stands for.
#[derive(Debug, Default)]
pub(super) struct Placeholders(Vec<(Arc<str>, usize)>);

impl Placeholders {
    /// Counts one more form of a value; its number, from 1.
    pub(super) fn add(&mut self, text: &Arc<str>) -> usize {
        match self.0.iter_mut().find(|(known, _)| known == text) {
            Some((_, count)) => {
                *count += 1;
                *count
            }
            None => {
                self.0.push((Arc::clone(text), 1));
                1
            }
        }
    }

    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(text, _)| &**text)
    }

    /// Copies a text without values, with a mark in what reads like one of our placeholders.
    pub(super) fn push_marked(&self, text: &str, out: &mut String) {
        let mut rest = text;
        while let Some(at) = rest.find('[') {
            out.push_str(&rest[..at]);
            rest = &rest[at..];
            let length = self.texts().find_map(|placeholder| marked_length(placeholder, rest));
            match length {
                Some(length) => {
                    out.push_str(&rest[..length - 1]);
                    out.push_str(AS_TEXT);
                    out.push(']');
                    rest = &rest[length..];
                }
                None => {
                    out.push('[');
                    rest = &rest[1..];
                }
            }
        }
        out.push_str(rest);
    }
}

/// The length of a placeholder as a question writes it, if the text begins with this one.
fn marked_length(placeholder: &str, text: &str) -> Option<usize> {
    let open = placeholder.strip_suffix(']')?;
    let mut rest = text.strip_prefix(open)?;
    if let Some(number) = rest.strip_prefix(", form ") {
        rest = number.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    while let Some(more) = rest.strip_prefix(AS_TEXT) {
        rest = more;
    }
    rest.starts_with(']').then(|| text.len() - rest.len() + 1)
}
