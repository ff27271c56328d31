//! What a damaged log hides: SQLite takes it up to the first page that does not fit and drops the rest without a word.
//!
//! The layout is SQLite's file format: a header of 32 bytes; then frames, each a header of 24 bytes and a page. Every frame holds
//! the two salts of the header and a running checksum; the last one of a commit tells the size of the database.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

const HEADER: usize = 32;
const FRAME_HEADER: usize = 24;
/// The lowest bit tells the order of bytes in checksums.
const MAGIC: u32 = 0x377f_0682;

/// How many commits stand behind damage, which whoever opens the database would drop; `None` if it is whole. 0: not even the
/// beginning can be read.
///
/// What a process left unfinished is no damage: no commit stands behind it.
pub(super) fn lost(path: &Path) -> io::Result<Option<u64>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut log = BufReader::with_capacity(1 << 16, file);
    let mut header = [0; HEADER];
    if !read_whole(&mut log, &mut header)? || header == [0; HEADER] {
        return Ok(None);
    }
    let Some(mut sum) = Sum::after(&header) else { return Ok(Some(0)) };
    let salts: [u8; 8] = part(&header, 16);
    let mut frame = vec![0; FRAME_HEADER + page_size(&header)];
    let (mut is_whole, mut lost) = (true, 0);
    while read_whole(&mut log, &mut frame)? {
        let is_ours = part::<8>(&frame, 8) == salts;
        if is_whole {
            sum.add(&frame[..8]);
            sum.add(&frame[FRAME_HEADER..]);
            // The first that does not fit may be the last one that a killed process began to write, or belong to an earlier use
            // of the file.
            is_whole = is_ours && sum.is(&part(&frame, 16));
        } else {
            lost += u64::from(is_ours && number(&frame, 4) > 0);
        }
    }
    Ok((lost > 0).then_some(lost))
}

/// Whether there was enough to fill it.
fn read_whole(log: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match log.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

fn page_size(header: &[u8]) -> usize {
    match number(header, 8) {
        1 => 65_536,
        size => size as usize,
    }
}

fn part<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut part = [0; N];
    part.copy_from_slice(&bytes[at..at + N]);
    part
}

fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(part(bytes, at))
}

/// The running checksum.
struct Sum {
    big_endian: bool,
    one: u32,
    two: u32,
}

impl Sum {
    /// That of a header; `None` if it is none, or damaged.
    fn after(header: &[u8; HEADER]) -> Option<Self> {
        let magic = number(header, 0);
        let size = page_size(header);
        if magic & !1 != MAGIC || !size.is_power_of_two() || !(512..=65_536).contains(&size) {
            return None;
        }
        let mut sum = Self { big_endian: magic & 1 == 1, one: 0, two: 0 };
        sum.add(&header[..24]);
        sum.is(&part(header, 24)).then_some(sum)
    }

    fn add(&mut self, bytes: &[u8]) {
        for pair in bytes.chunks_exact(8) {
            let (first, second) = (part(pair, 0), part(pair, 4));
            let [first, second] = match self.big_endian {
                true => [first, second].map(u32::from_be_bytes),
                false => [first, second].map(u32::from_le_bytes),
            };
            self.one = self.one.wrapping_add(first).wrapping_add(self.two);
            self.two = self.two.wrapping_add(second).wrapping_add(self.one);
        }
    }

    fn is(&self, stored: &[u8; 8]) -> bool {
        (number(stored, 0), number(stored, 4)) == (self.one, self.two)
    }
}
