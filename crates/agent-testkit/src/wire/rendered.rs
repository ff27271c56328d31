//! A reply as bytes.

/// A response body and where its events end.
#[derive(Debug, Default)]
pub(crate) struct Rendered {
    pub(crate) bytes: Vec<u8>,
    pub(crate) ends: Vec<usize>,
}

impl Rendered {
    /// Ends the event written to `bytes` since the last end.
    pub(super) fn end_event(&mut self) {
        self.ends.push(self.bytes.len());
    }
}
