//! Access keys of AWS: the id, and the secret where it follows.

use super::bytes::is_word;
use super::cut::Cut;
use super::marker;
use super::shape::Shape;
use super::window::Window;

/// Letters and digits after the four that say what it is.
const ID: usize = 16;
/// The secret; nothing but its length and what stands before tells it from other base64.
const SECRET: usize = 40;

pub(super) fn look(window: &Window<'_>, cuts: &mut Vec<Cut>) {
    if !window.text[window.start..window.end].iter().all(u8::is_ascii_uppercase)
        || !window.begins(window.start, is_word)
    {
        return;
    }
    let end = window.run_within(window.end, ID + 1, is_word);
    let id = &window.text[window.end..end];
    let plausible = id.len() == ID && id.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
    // The example of the documentation ends so.
    if !plausible || id.ends_with(b"EXAMPLE") || window.touches_marker(end) || Shape::of(id).is_monotonous() {
        return;
    }
    cuts.push(Cut { range: window.start..end, marker: "[redacted aws access key id]" });
    let from = window.run_within(end, 8, |byte| !byte.is_ascii_alphanumeric() && byte.is_ascii());
    let after = window.run_within(from, SECRET + 1, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'));
    let secret = &window.text[from..after];
    if from > end && secret.len() == SECRET && !window.touches_marker(after) && Shape::of(secret).is_random() {
        cuts.push(Cut { range: from..after, marker: marker::PLAIN });
    }
}
