//! Content of a node that is so long that its row is not made in memory as a whole: SQLite would hold what it was given and what it
//! makes of that, beside the node that the runtime holds (FND-13). The row gets room instead, and that is filled piece by piece.

use std::io::{self, BufWriter, Write};

use agent_protocol::ContentBlock;
use rusqlite::blob::Blob;
use rusqlite::{Connection, MAIN_DB};

use super::fault::{Fault, Outcome};

/// Content of more bytes than this is long.
pub(super) const FROM: usize = 1 << 20;
/// Bytes of a piece.
const PIECE: usize = 1 << 16;

/// Fills the room that a row of `nodes` has for its content.
pub(super) fn fill(tx: &Connection, row: i64, content: &[ContentBlock]) -> Outcome<()> {
    let blob = tx.blob_open(MAIN_DB, "nodes", "long_content", row, false)?;
    let mut pieces = BufWriter::with_capacity(PIECE, Pieces { blob, at: 0, failed: None });
    let written = serde_json::to_writer(&mut pieces, content).map_err(io::Error::from).and_then(|()| pieces.flush());
    let (pieces, _) = pieces.into_parts();
    match (pieces.failed, written) {
        (Some(error), _) => Err(error.into()),
        (None, Err(error)) => Err(Fault::rejected("write JSON", error)),
        // The room was measured by the same text.
        (None, Ok(())) if pieces.at != pieces.blob.len() => {
            Err(Fault::rejected("write JSON", io::Error::other("it is cut")))
        }
        (None, Ok(())) => Ok(()),
    }
}

/// Writes to a value that has its size already.
struct Pieces<'c> {
    blob: Blob<'c>,
    at: usize,
    /// What the database said, which an error of writing does not keep.
    failed: Option<rusqlite::Error>,
}

impl Write for Pieces<'_> {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        if let Err(error) = self.blob.write_all_at(piece, self.at) {
            self.failed = Some(error);
            return Err(io::Error::other("the database does not take it"));
        }
        self.at += piece.len();
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
