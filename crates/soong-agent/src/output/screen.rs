//! A screen that is drawn over again and again.

/// A screen of its own, without a cursor.
pub(super) const BEGIN: &str = "\x1b[?1049h\x1b[?25l";
/// The one before, as it was.
pub(super) const END: &str = "\x1b[?25h\x1b[?1049l";

/// A page from the first row on. Every row is wiped before it is written, and what was below it in the end, so that nothing flickers.
pub(super) fn drawn(page: &str, rows: usize) -> String {
    let lines: Vec<&str> = page.lines().collect();
    let fit = if lines.len() <= rows { lines.len() } else { rows.saturating_sub(1) };
    let mut text = "\x1b[H".to_owned();
    for (at, line) in lines[..fit].iter().enumerate() {
        text.push_str(if at > 0 { "\r\n\x1b[2K" } else { "\x1b[2K" });
        text.push_str(line);
    }
    if fit < lines.len() {
        text.push_str(&format!("\r\n\x1b[2K({} more rows)", lines.len() - fit));
    }
    text.push_str("\x1b[J");
    text
}

#[cfg(test)]
mod tests {
    use super::drawn;

    /// CLI-2: what does not fit on the screen is counted, and nothing scrolls.
    #[test]
    fn rows_that_do_not_fit_are_counted() {
        let page: String = (1..=5).map(|row| format!("row {row}\n")).collect();
        assert_eq!(drawn(&page, 5).matches("row ").count(), 5);
        let cut = drawn(&page, 4);
        assert!(cut.contains("row 3") && !cut.contains("row 4") && cut.contains("(2 more rows)"), "{cut:?}");
        assert_eq!(cut.matches("\r\n").count(), 3);
        assert_eq!(drawn("", 1), "\x1b[H\x1b[J");
    }
}
