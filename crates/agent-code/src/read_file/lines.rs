//! Lines of a stream, in bounded memory.

use std::io::{self, Read};

use memchr::{memchr, memchr_iter, memrchr};

/// Bytes at a time. The first read is small, so that the start of a huge file costs no more than that of a small one.
const FIRST_CHUNK: usize = 16 * 1024;
const CHUNK: usize = 256 * 1024;
/// How far the end of a line is looked for.
const MAX_SCAN: u64 = 64 * 1024 * 1024;

/// Reads lines, which end in LF or with the file.
pub(crate) struct Lines<R> {
    source: R,
    buffer: Vec<u8>,
    start: usize,
    ended: bool,
}

/// How skipping went.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Skipped {
    /// All lines that were asked for.
    All,
    /// The file has only so many lines.
    Ended { lines: u64 },
    /// This line is too long to look for its end.
    TooLong { line: u64 },
}

/// One line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// Its first bytes, without the line end.
    pub(crate) bytes: Vec<u8>,
    /// How many bytes it has in all, as far as they were looked at.
    pub(crate) length: u64,
    pub(crate) end: LineEnd,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LineEnd {
    Newline,
    EndOfFile,
    /// Not found within reason.
    TooFar,
}

impl<R: Read> Lines<R> {
    pub(crate) fn new(source: R) -> Self {
        Self { source, buffer: Vec::new(), start: 0, ended: false }
    }

    /// What was read and not used yet; reads if that is nothing. Empty at the end.
    pub(crate) fn available(&mut self) -> io::Result<&[u8]> {
        if self.start == self.buffer.len() && !self.ended {
            // A file that did not fill the first chunk is at its end: that takes no big buffer to find out.
            let size = if self.buffer.len() < FIRST_CHUNK { FIRST_CHUNK } else { CHUNK };
            self.buffer.resize(size, 0);
            let read = read(&mut self.source, &mut self.buffer)?;
            self.buffer.truncate(read);
            (self.start, self.ended) = (0, read == 0);
        }
        Ok(&self.buffer[self.start..])
    }

    fn use_up(&mut self, count: usize) {
        self.start += count;
    }

    /// Whether nothing is left.
    pub(crate) fn at_end(&mut self) -> io::Result<bool> {
        Ok(self.available()?.is_empty())
    }

    /// Passes over `wanted` lines.
    pub(crate) fn skip(&mut self, wanted: u64) -> io::Result<Skipped> {
        let mut passed = 0;
        // Bytes of the current line so far.
        let mut current = 0u64;
        while passed < wanted {
            let chunk = self.available()?;
            if chunk.is_empty() {
                return Ok(Skipped::Ended { lines: passed + u64::from(current > 0) });
            }
            let count = memchr_iter(b'\n', chunk).count() as u64;
            let length = chunk.len();
            if passed + count >= wanted {
                let nth = usize::try_from(wanted - passed - 1).unwrap_or(usize::MAX);
                let end = memchr_iter(b'\n', chunk).nth(nth).map_or(length, |at| at + 1);
                self.use_up(end);
                return Ok(Skipped::All);
            }
            passed += count;
            current = memrchr(b'\n', chunk).map_or(current + length as u64, |last| (length - last - 1) as u64);
            self.use_up(length);
            if current > MAX_SCAN {
                return Ok(Skipped::TooLong { line: passed + 1 });
            }
        }
        Ok(Skipped::All)
    }

    /// The next line, with at most `keep` of its bytes. `None` at the end.
    pub(crate) fn next(&mut self, keep: usize) -> io::Result<Option<Line>> {
        let mut line = Line { bytes: Vec::new(), length: 0, end: LineEnd::EndOfFile };
        loop {
            let chunk = self.available()?;
            if chunk.is_empty() {
                return Ok((line.length > 0).then_some(line));
            }
            let end = memchr(b'\n', chunk);
            let part = &chunk[..end.unwrap_or(chunk.len())];
            let room = keep.saturating_sub(line.bytes.len());
            line.bytes.extend_from_slice(&part[..part.len().min(room)]);
            line.length += part.len() as u64;
            let used = part.len() + usize::from(end.is_some());
            self.use_up(used);
            if end.is_some() {
                line.end = LineEnd::Newline;
                return Ok(Some(line));
            }
            if line.length > MAX_SCAN {
                line.end = LineEnd::TooFar;
                return Ok(Some(line));
            }
        }
    }
}

fn read(source: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match source.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(crate::testing::cases(256))]

        /// Skipping and reading give the lines that splitting the text gives.
        #[test]
        fn lines_are_those_of_the_text(text in "[a-c\n]{0,40}", skip in 0usize..12) {
            let expected: Vec<&str> = text.split_inclusive('\n').collect();
            let mut lines = Lines::new(text.as_bytes());
            match lines.skip(skip as u64).unwrap() {
                Skipped::All => prop_assert!(skip <= expected.len()),
                skipped => {
                    prop_assert_eq!(skipped, Skipped::Ended { lines: expected.len() as u64 });
                    prop_assert!(skip >= expected.len());
                }
            }
            for line in expected.iter().skip(skip) {
                let read = lines.next(100).unwrap().unwrap();
                let whole = [&read.bytes[..], if read.end == LineEnd::Newline { b"\n" } else { b"" }].concat();
                prop_assert_eq!(whole, line.as_bytes());
            }
            prop_assert_eq!(lines.next(100).unwrap(), None);
        }
    }

    /// COD-2: the end of a line is not looked for beyond 64 MiB, whether the line is wanted or passed over.
    #[test]
    fn endless_lines_are_given_up() {
        let line = Lines::new(io::repeat(b'x')).next(10).unwrap().unwrap();
        assert_eq!((line.bytes.as_slice(), line.end), (&b"xxxxxxxxxx"[..], LineEnd::TooFar));
        assert!(line.length <= MAX_SCAN + CHUNK as u64);
        let source = b"a\n".chain(io::repeat(b'x'));
        assert_eq!(Lines::new(source).skip(5).unwrap(), Skipped::TooLong { line: 2 });
    }
}
