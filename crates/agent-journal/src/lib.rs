//! An append-only log of JSON lines in one file.
//!
//! - *Acknowledged means on disk.* [`Journal::append`] writes a group of whole lines with one write, and returns once the disk has
//!   them. Where it fails, the file is cut back to the last acknowledged byte; where that fails too, the journal is unusable until
//!   it is opened again, and says so.
//! - *One writer.* A lock of the operating system on the file keeps others out, in this process and in others. It ends with the
//!   process that holds it.
//! - *A torn end is mended.* What a crash left of the last line is put aside in a file of its own beside the log, and the log ends
//!   with a whole line again. Anything else that is wrong is for whoever reads the lines to judge: nothing is changed then.
//!
//! It is deliberately *not* a database: no index, no compaction, no records but lines, and no idea of what a line says beyond its
//! being JSON.
//!
//! ```
//! use agent_journal::{Journal, read};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("work.jsonl");
//! let mut journal = Journal::create(&path, b"{\"n\":1}\n")?;
//! journal.append(b"{\"n\":2}\n{\"n\":3}\n")?;
//!
//! let mut lines = Vec::new();
//! read(&path, |line| Ok::<_, std::convert::Infallible>(lines.push(line.to_owned())))?;
//! assert_eq!(lines, [r#"{"n":1}"#, r#"{"n":2}"#, r#"{"n":3}"#]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod file;
mod held;
mod holder;
mod journal;
mod lines;
#[cfg(test)]
mod tests;
mod torn;

pub use error::{JournalError, ReadError};
pub use file::Medium;
pub use held::HeldLog;
pub use journal::{Journal, Opened};
pub use lines::{MAX_LINE_BYTES, read};
pub use torn::{KeptEnd, Torn, kept_of};
