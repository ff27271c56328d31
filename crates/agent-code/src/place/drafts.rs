//! Temporary names that a process left behind when it was killed.
//!
//! Content has a name of its own only for a moment before it takes the place of a file, or for as long as it is written where a
//! file system knows no files without a name. Before that it is noted in our home, in a file that is locked as long as its
//! writer lives. So whoever starts next can tell what nobody will finish, and removes exactly that: the file of this name,
//! device and inode, and no other.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Read, Write},
    os::unix::{
        ffi::{OsStrExt, OsStringExt},
        fs::{DirBuilderExt, OpenOptionsExt},
    },
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::fs::{AtFlags, FileType, OFlags, fstat, unlinkat};

use super::{
    folder::Folder,
    system::{Identity, identity},
    walk::{Found, walk},
};

/// The folder of notes in our home. It is there only while there is one.
const FOLDER: &str = "drafts";
/// How our temporary names begin and end.
const PREFIX: &str = ".soong-agent-";
const SUFFIX: &str = ".tmp";
/// No note is longer. Bytes.
const MAX_NOTE: u64 = 8 * 1024;
/// A note that is not whole is of a writer that has just begun, or of one that was killed then.
const YOUNG: Duration = Duration::from_secs(60);
/// More are left for the next time.
const MAX_AT_ONCE: usize = 256;

/// Where notes are made.
#[derive(Debug, Clone)]
pub(crate) struct Drafts(PathBuf);

/// One note. It goes when this is dropped, after the file it is about.
#[derive(Debug)]
pub(super) struct Note {
    path: PathBuf,
    /// Holds the lock.
    _file: File,
}

impl Drop for Note {
    fn drop(&mut self) {
        // What stays is looked at by the next process, which finds nothing left to do.
        let _ = fs::remove_file(&self.path);
        if let Some(folder) = self.path.parent() {
            let _ = fs::remove_dir(folder);
        }
    }
}

/// A temporary name that nobody has used.
pub(super) fn temporary_name(random: u64) -> OsString {
    format!("{PREFIX}{random:016x}{SUFFIX}").into()
}

impl Drafts {
    /// Below this home.
    pub(crate) fn in_home(home: &Path) -> Self {
        Self(home.join(FOLDER))
    }

    /// Notes that a file will have this name. Nothing where no note can be made: a name left behind is a nuisance, and no
    /// reason not to write.
    pub(super) fn note(&self, folder: &Folder, name: &OsStr, file: &File) -> Option<Note> {
        self.try_note(folder, name, file).ok()
    }

    fn try_note(&self, folder: &Folder, name: &OsStr, file: &File) -> io::Result<Note> {
        let (device, inode) = identity(&fstat(file)?);
        let path = self.0.join(name);
        let mut text = format!("{device} {inode}\n").into_bytes();
        text.extend_from_slice(folder.path().as_os_str().as_bytes());
        text.push(b'\n');
        let mut note = self.create(&path)?;
        note.lock()?;
        // In one piece: half a note says nothing.
        note.write_all(&text)?;
        Ok(Note { path, _file: note })
    }

    fn create(&self, path: &Path) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        match options.open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            opened => return opened,
        }
        match DirBuilder::new().mode(0o700).create(&self.0) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => options.open(path),
        }
    }

    /// Removes what killed processes left behind. Whatever cannot be removed is tried again the next time.
    pub(crate) fn clear(&self) {
        let Ok(notes) = fs::read_dir(&self.0) else { return };
        for note in notes.take(MAX_AT_ONCE).flatten() {
            let name = note.file_name();
            if is_temporary(&name) {
                let _ = clear(&note.path(), &name);
            }
        }
        let _ = fs::remove_dir(&self.0);
    }
}

fn is_temporary(name: &OsStr) -> bool {
    let random = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX));
    random.is_some_and(|random| random.len() == 16 && random.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn clear(path: &Path, name: &OsStr) -> io::Result<()> {
    let flags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).bits();
    let note = OpenOptions::new().read(true).write(true).custom_flags(flags.cast_signed()).open(path)?;
    match note.try_lock() {
        Ok(()) => {}
        // Its writer lives.
        Err(TryLockError::WouldBlock) => return Ok(()),
        Err(TryLockError::Error(error)) => return Err(error),
    }
    let mut text = Vec::new();
    (&note).take(MAX_NOTE).read_to_end(&mut text)?;
    match read(&text) {
        Some((file, folder)) => remove(&folder, name, file)?,
        None if is_young(&note) => return Ok(()),
        None => {}
    }
    fs::remove_file(path)
}

fn is_young(note: &File) -> bool {
    let age = note.metadata().and_then(|found| found.modified()).map(|then| then.elapsed().unwrap_or_default());
    age.is_ok_and(|age| age < YOUNG)
}

/// Which file a note is about, and its folder.
fn read(text: &[u8]) -> Option<(Identity, PathBuf)> {
    let mut lines = text.strip_suffix(b"\n")?.splitn(2, |byte| *byte == b'\n');
    let (device, inode) = std::str::from_utf8(lines.next()?).ok()?.split_once(' ')?;
    let folder = PathBuf::from(OsString::from_vec(lines.next()?.to_vec()));
    folder.is_absolute().then_some(((device.parse().ok()?, inode.parse().ok()?), folder))
}

/// Removes the file of this name if it is the very one.
fn remove(folder: &Path, name: &OsStr, file: Identity) -> io::Result<()> {
    let Ok(Found::Folder(held)) = walk(folder) else { return Ok(()) };
    if held.path() != folder {
        return Ok(());
    }
    match held.stat(name)? {
        Some(stat) if identity(&stat) == file && FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile => {
            Ok(unlinkat(held.fd(), name, AtFlags::empty())?)
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
