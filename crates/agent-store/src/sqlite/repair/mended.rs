//! What a repair tells.

/// What the copy lost, and what became of the rest.
pub(super) struct Mended<'m> {
    /// Rows by table.
    pub(super) lost: &'m mut Vec<(&'static str, u64)>,
    /// A line for each change.
    pub(super) lines: &'m mut Vec<String>,
}

impl Mended<'_> {
    pub(super) fn changed(&mut self, line: String) {
        self.lines.push(line);
    }

    pub(super) fn lost(&mut self, table: &'static str, rows: u64) {
        match self.lost.iter_mut().find(|(name, _)| *name == table) {
            Some((_, count)) => *count += rows,
            None => self.lost.push((table, rows)),
        }
    }

    /// Rows that were made anew are changed, not lost.
    pub(super) fn found_again(&mut self, table: &'static str, rows: u64) {
        if let Some((_, count)) = self.lost.iter_mut().find(|(name, _)| *name == table) {
            *count = count.saturating_sub(rows);
        }
    }
}
