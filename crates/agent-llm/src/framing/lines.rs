//! Cuts bytes into lines.

use super::TooLong;

/// What ends a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineEnds {
    /// LF only, as NDJSON has it; a CR before it is dropped.
    Lf,
    /// LF, CR or CRLF, as server-sent events have it.
    Any,
}

/// A line splitter. Lines that lie whole in one chunk are handed on without a copy.
#[derive(Debug)]
pub(crate) struct Lines {
    ends: LineEnds,
    limit: usize,
    /// The beginning of a line whose end has not come.
    pending: Vec<u8>,
    /// The last byte was a CR that ended a line: an LF right after it belongs to it.
    after_cr: bool,
    /// No line has been handed on: this one may begin with a byte order mark.
    first: bool,
}

impl Lines {
    pub(crate) fn new(ends: LineEnds, limit: usize) -> Self {
        Self { ends, limit, pending: Vec::new(), after_cr: false, first: true }
    }

    /// Takes a chunk and calls `each` for every line that ends in it.
    pub(crate) fn push<E: From<TooLong>>(
        &mut self,
        mut chunk: &[u8],
        mut each: impl FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        if !chunk.is_empty() && std::mem::take(&mut self.after_cr) {
            chunk = chunk.strip_prefix(b"\n").unwrap_or(chunk);
        }
        while let Some(end) = self.find_end(chunk) {
            let (line, rest) = chunk.split_at(end);
            self.emit(line, &mut each)?;
            chunk = match rest {
                [b'\r', b'\n', rest @ ..] => rest,
                [b'\r'] => {
                    self.after_cr = true;
                    &[]
                }
                [_, rest @ ..] => rest,
                [] => &[],
            };
        }
        if self.pending.len() + chunk.len() > self.limit {
            return Err(TooLong { limit: self.limit }.into());
        }
        self.pending.extend_from_slice(chunk);
        Ok(())
    }

    /// The body has ended: hands on what stands after the last line end, if anything.
    pub(crate) fn finish<E: From<TooLong>>(&mut self, mut each: impl FnMut(&str) -> Result<(), E>) -> Result<(), E> {
        if self.pending.is_empty() { Ok(()) } else { self.emit(&[], &mut each) }
    }

    /// How many bytes wait for the end of their line.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn held(&self) -> usize {
        self.pending.len()
    }

    fn find_end(&self, chunk: &[u8]) -> Option<usize> {
        match self.ends {
            LineEnds::Lf => memchr::memchr(b'\n', chunk),
            LineEnds::Any => memchr::memchr2(b'\n', b'\r', chunk),
        }
    }

    fn emit<E: From<TooLong>>(&mut self, tail: &[u8], each: &mut impl FnMut(&str) -> Result<(), E>) -> Result<(), E> {
        if self.pending.len() + tail.len() > self.limit {
            return Err(TooLong { limit: self.limit }.into());
        }
        let mut buffer = std::mem::take(&mut self.pending);
        let mut line = if buffer.is_empty() {
            tail
        } else {
            buffer.extend_from_slice(tail);
            buffer.as_slice()
        };
        if std::mem::take(&mut self.first) {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        if self.ends == LineEnds::Lf {
            line = line.strip_suffix(b"\r").unwrap_or(line);
        }
        let result = match std::str::from_utf8(line) {
            Ok(line) => each(line),
            // Slower, and hardly ever needed.
            Err(_) => each(&String::from_utf8_lossy(line)),
        };
        buffer.clear();
        self.pending = buffer;
        result
    }
}
