//! Writing: whole lines, acknowledged once they are on disk.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{JournalError, ReadError};
use crate::file::{AppendFile, Medium, lock, sync_folder_of};
use crate::lines::io_error;
use crate::torn::{self, Torn};

const NOT_IN_PLACE: &str = "it was moved, removed or changed by somebody else while it was in use";

/// A log that is open for appending, and locked until it is dropped.
#[derive(Debug)]
pub struct Journal {
    medium: Box<dyn Medium>,
    path: PathBuf,
    /// Where the last acknowledged line ends.
    len: u64,
    /// Why it cannot be written any more.
    broken: Option<String>,
}

/// A journal that was opened, and what was found at its end.
#[derive(Debug)]
pub struct Opened {
    /// The journal.
    pub journal: Journal,
    /// How many lines it has.
    pub lines: u64,
    /// What a crash had left behind the last one.
    pub torn: Option<Torn>,
}

impl Journal {
    /// Makes a log with its first lines. It is there once this returns, also after a power cut; where it fails, there is none.
    ///
    /// # Errors
    /// [`JournalError`]; [`Exists`](JournalError::Exists) where there is anything of that name.
    pub fn create(path: &Path, lines: &[u8]) -> Result<Self, JournalError> {
        whole(lines)?;
        let file = AppendFile::make(path).map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => JournalError::Exists(path.to_owned()),
            _ => io_error("make", path, source),
        })?;
        let made = lock(&file.file, path).and_then(|()| {
            let mut journal = Self::on(Box::new(file), path, 0);
            journal.append(lines)?;
            sync_folder_of(path).map_err(|source| io_error("sync the folder of", path, source))?;
            Ok(journal)
        });
        if made.is_err() {
            // Nothing of it was acknowledged. What cannot be removed is a log without a whole line, or one that a reader judges.
            let _ = fs::remove_file(path);
        }
        made
    }

    /// Opens a log and hands out its lines, without their line ends. A torn end is put aside, once all lines before it were taken.
    ///
    /// # Errors
    /// [`ReadError`]; nothing was changed then.
    pub fn open<E>(path: &Path, line: impl FnMut(&str) -> Result<(), E>) -> Result<Opened, ReadError<E>> {
        let mut file = AppendFile::open(path).map_err(|source| io_error("open", path, source))?;
        lock(&file.file, path)?;
        let extent = file.each(line)?;
        let end = file.len().map_err(|source| io_error("read", path, source))?;
        let torn = match end.checked_sub(extent.len).filter(|bytes| *bytes > 0) {
            Some(bytes) => Some(torn::mend(&mut file, extent.len, bytes)?),
            None => None,
        };
        Ok(Opened { journal: Self::on(Box::new(file), path, extent.len), lines: extent.lines, torn })
    }

    /// A journal on something else than a file, with `len` acknowledged bytes: for tests that make it fail.
    #[must_use]
    pub fn on(medium: Box<dyn Medium>, path: &Path, len: u64) -> Self {
        Self { medium, path: path.to_owned(), len, broken: None }
    }

    /// Appends lines, each with its line end, in one write. They are on disk when this returns.
    ///
    /// # Errors
    /// [`JournalError`]; nothing of the group is in the log then, or, for [`Broken`](JournalError::Broken) and what follows it,
    /// nobody knows before it is opened again.
    pub fn append(&mut self, lines: &[u8]) -> Result<(), JournalError> {
        whole(lines)?;
        if let Some(why) = &self.broken {
            return Err(JournalError::Broken { path: self.path.clone(), why: why.clone() });
        }
        if !self.is_in_place()? {
            return Err(self.gives_up(NOT_IN_PLACE.to_owned()));
        }
        let written = self.medium.write(lines).map_err(|source| io_error("write to", &self.path, source));
        let synced = written.and_then(|()| self.medium.sync().map_err(|source| io_error("sync", &self.path, source)));
        let Err(error) = synced else {
            self.len += lines.len() as u64;
            return Ok(());
        };
        match self.medium.cut(self.len).and_then(|()| self.medium.sync()) {
            Ok(()) => Err(error),
            Err(again) => Err(self.gives_up(format!("{error}, and it could not be taken back: {again}"))),
        }
    }

    fn is_in_place(&self) -> Result<bool, JournalError> {
        self.medium.is_in_place(self.len).map_err(|source| io_error("look for", &self.path, source))
    }

    /// Whether the file still lies where it was opened and holds just what was acknowledged: for readers of what is in memory.
    ///
    /// # Errors
    /// [`Broken`](JournalError::Broken) where it is not so; it cannot be found out.
    pub fn check_place(&self) -> Result<(), JournalError> {
        match self.is_in_place()? {
            true => Ok(()),
            false => Err(JournalError::Broken { path: self.path.clone(), why: NOT_IN_PLACE.to_owned() }),
        }
    }

    fn gives_up(&mut self, why: String) -> JournalError {
        self.broken = Some(why.clone());
        JournalError::Broken { path: self.path.clone(), why }
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the last acknowledged line ends, in bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether it has no line.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether it cannot be written before it is opened again.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.broken.is_some()
    }
}

fn whole(lines: &[u8]) -> Result<(), JournalError> {
    if lines.last() == Some(&b'\n') { Ok(()) } else { Err(JournalError::NotWhole) }
}
