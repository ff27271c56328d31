//! A text shortened to its two ends.

use crate::tokens::TokenCounter;

/// What marks where something is missing.
pub(super) const CUT: &str = " […] ";

/// Head and tail of what takes more than `room` tokens: what matters stands most often at one of the ends. `None`: it fits.
pub(crate) fn shortened(text: &str, room: u64) -> Option<String> {
    if TokenCounter.text(text) <= room {
        return None;
    }
    let mut bytes = usize::try_from(room.saturating_mul(4)).unwrap_or(usize::MAX).min(text.len());
    loop {
        let head = &text[..text.floor_char_boundary(bytes * 2 / 3)];
        let tail = &text[text.ceil_char_boundary(text.len() - bytes / 3)..];
        let short = format!("{head}{CUT}{tail}");
        if bytes == 0 || TokenCounter.text(&short) <= room {
            return Some(short);
        }
        // Wide characters cost more than a quarter token a byte.
        bytes = bytes * 3 / 4;
    }
}
