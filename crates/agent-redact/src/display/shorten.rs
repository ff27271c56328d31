//! Text that fits into a number of columns.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// What stands for the missing end; one column.
const ELLIPSIS: char = '…';

/// The beginning of a text, at most `max_columns` wide, with an ellipsis where something was cut off (CLI-02).
///
/// Cuts between what people see as characters (grapheme clusters), so that neither an emoji sequence nor a letter with its
/// accents is torn. Widths are those of Unicode: East Asian wide characters and emoji take two columns. Escape first, then
/// shorten; line breaks are not looked at.
#[must_use]
pub fn shorten(text: &str, max_columns: usize) -> Cow<'_, str> {
    let (mut width, mut end) = (0_usize, 0);
    for (at, grapheme) in text.grapheme_indices(true) {
        width = width.saturating_add(grapheme.width());
        if width > max_columns {
            return match max_columns {
                0 => Cow::Borrowed(""),
                _ => Cow::Owned(format!("{}{ELLIPSIS}", &text[..end])),
            };
        }
        if width < max_columns {
            end = at + grapheme.len();
        }
    }
    Cow::Borrowed(text)
}

#[cfg(test)]
mod tests;
