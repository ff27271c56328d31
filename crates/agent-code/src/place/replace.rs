//! Writing a file whole or not at all (COD-5).
//!
//! The new content goes to a file without a name in the same folder (where there are such files), gets a temporary name when
//! it is whole, and takes the name's place in one step, so that a
//! reader, a crash or a full disk finds the old content or the new one. All of it happens in the folder that was held
//! when the call was prepared, by names without a slash: no link that appears meanwhile is followed.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    hash::{BuildHasher, Hasher, RandomState},
    io::{self, Read},
    os::fd::AsRawFd,
    path::PathBuf,
};

use agent_tool::{Fence, FenceClosed, FileStamp};
use rustix::{
    fs::{
        AtFlags, CWD, Gid, Mode, OFlags, RenameFlags, Stat, Uid, fchmod, fchown, fstat, fsync, linkat, mkdirat, openat,
        renameat, renameat_with, unlinkat,
    },
    io::Errno,
};

use super::{
    attributes::{AttributeError, Kept},
    drafts::{Drafts, Note, temporary_name},
    folder::Folder,
    read::{OpenFile, stamp},
};

/// How often another name for the temporary file is tried.
const TRIES: usize = 16;

/// A place that can be written: the folder that is held, the folders that are still to be made, and the name.
#[derive(Debug)]
pub(crate) struct Writable {
    pub(crate) folder: Folder,
    pub(crate) to_make: Vec<OsString>,
    pub(crate) name: OsString,
    pub(crate) before: Before,
    /// Where a name for a moment is noted, so that it does not stay behind for ever.
    pub(crate) drafts: Option<Drafts>,
}

/// What was there when the call was prepared.
#[derive(Debug)]
pub(crate) enum Before {
    Missing,
    File {
        stat: Stat,
        /// BLAKE3 of its content, where it was read.
        hash: Option<[u8; 32]>,
    },
}

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReplaceError {
    /// Something else is there than when the call was prepared.
    #[error("it changed meanwhile: {0}")]
    Changed(&'static str),
    #[error(transparent)]
    TooLate(#[from] FenceClosed),
    #[error("cannot {step}")]
    Os { step: &'static str, source: io::Error },
    /// The new file would give other rights than the old one, or lack what it has.
    #[error("{what}")]
    Unlike { what: String, source: io::Error },
    /// It has the new content, which a power failure may undo.
    #[error("the new content is in place but could not be made durable")]
    NotDurable { source: io::Error },
}

impl ReplaceError {
    fn at(step: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Os { step, source }
    }
}

impl From<AttributeError> for ReplaceError {
    fn from(error: AttributeError) -> Self {
        Self::Unlike { what: error.to_string(), source: error.source }
    }
}

impl Writable {
    /// Puts what `fill` writes in the place of what was there, if that is still what it was. Returns the state of the
    /// new file.
    pub(crate) fn replace(
        self,
        fence: &Fence,
        fill: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> Result<FileStamp, ReplaceError> {
        drop(fence.enter()?);
        self.folder.has_not_moved().map_err(ReplaceError::at("open the folder"))?;
        let folder = self.make_folders(fence)?;
        let mut temporary = Temporary::make(&folder, &self.before, self.drafts.clone())
            .map_err(ReplaceError::at("make a temporary file"))?;
        fill(&mut temporary.file).map_err(ReplaceError::at("write"))?;
        temporary.look_like(&self.before, &self.name)?;
        temporary.file.sync_all().map_err(ReplaceError::at("write"))?;
        // Writing may have taken long.
        folder.has_not_moved().map_err(ReplaceError::at("open the folder"))?;
        let effect = fence.enter()?;
        let stat = temporary.take_the_place_of(&self.name, &self.before)?;
        drop(effect);
        durable(&folder).map_err(|source| ReplaceError::NotDurable { source })?;
        Ok(stamp(&stat))
    }

    /// Makes the missing folders, one in the other. One that somebody else made meanwhile is fine, a link is not.
    fn make_folders(&self, fence: &Fence) -> Result<Folder, ReplaceError> {
        let mut here = self.folder.reopened().map_err(ReplaceError::at("open the folder"))?;
        for name in &self.to_make {
            let effect = fence.enter()?;
            match mkdirat(here.fd(), name, Mode::from_raw_mode(0o777)) {
                Ok(()) => durable(&here).map_err(ReplaceError::at("make a folder"))?,
                Err(Errno::EXIST) => {}
                Err(error) => return Err(ReplaceError::at("make a folder")(error.into())),
            }
            drop(effect);
            here = here.child(name).map_err(|_| ReplaceError::Changed("a folder to be made is something else now"))?;
        }
        Ok(here)
    }
}

impl Before {
    /// Fails unless the name stands for what it stood for.
    fn still_there(&self, folder: &Folder, name: &OsStr) -> Result<(), ReplaceError> {
        let now = folder.stat(name).map_err(ReplaceError::at("look at what is there"))?;
        let (Self::File { stat: before, hash }, Some(now)) = (self, &now) else {
            return match (self, now) {
                (Self::Missing, None) => Ok(()),
                (Self::Missing, Some(_)) => Err(ReplaceError::Changed("it exists now")),
                (Self::File { .. }, _) => Err(ReplaceError::Changed("it is gone")),
            };
        };
        let (then, is) = (stamp(before), stamp(now));
        if then != (FileStamp { status_changed: then.status_changed, ..is }) {
            return Err(ReplaceError::Changed("somebody else wrote to it"));
        }
        // What takes its place has the rights and the owner that it had.
        if (before.st_mode, before.st_uid, before.st_gid) != (now.st_mode, now.st_uid, now.st_gid) {
            return Err(ReplaceError::Changed("somebody changed its rights"));
        }
        // The time of the last change of the content can be set back; this one cannot.
        if then != is {
            return Err(ReplaceError::Changed("somebody changed it, or something about it"));
        }
        // Two changes can fall into one tick of the clock, and memory that is mapped changes without one.
        match hash {
            Some(hash) if hash_of(folder, name, before)? != Some(*hash) => {
                Err(ReplaceError::Changed("somebody else wrote to it"))
            }
            _ => Ok(()),
        }
    }
}

/// Opens what was there, if it is the same still. No other file is opened: closing one may have an effect, too (see
/// `Workspace::open`).
fn open_again(folder: &Folder, name: &OsStr, before: &Stat) -> Result<OpenFile, ReplaceError> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::ResourceBusy => ReplaceError::Changed("somebody changed it, or something about it"),
        io::ErrorKind::NotFound => ReplaceError::Changed("it is gone"),
        _ => ReplaceError::at("look at what is there")(error),
    };
    let same = |found: &Stat| match stamp(found) == stamp(before) {
        true => Ok(()),
        false => Err(io::ErrorKind::ResourceBusy.into()),
    };
    let opened = OpenFile::open(folder, name, same).map_err(failed)?;
    opened.map_err(|_| ReplaceError::Changed("it is something else now"))
}

fn hash_of(folder: &Folder, name: &OsStr, before: &Stat) -> Result<Option<[u8; 32]>, ReplaceError> {
    let opened = open_again(folder, name, before)?;
    let mut hasher = blake3::Hasher::new();
    // One that grows under our eyes has changed all the same.
    hasher.update_reader((&opened.file).take(opened.size() + 1)).map_err(ReplaceError::at("read what is there"))?;
    Ok(Some(*hasher.finalize().as_bytes()))
}

/// A file on its way to its name. It is gone when this is dropped before it got there.
struct Temporary<'f> {
    folder: &'f Folder,
    /// Empty while it has none, and once it got there.
    name: OsString,
    file: File,
    drafts: Option<Drafts>,
    /// That it has a name which must not stay. Dropped last.
    note: Option<Note>,
}

impl<'f> Temporary<'f> {
    fn make(folder: &'f Folder, before: &Before, drafts: Option<Drafts>) -> io::Result<Self> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // A new file gets the usual rights, less what the process masks; a copy of an old one nobody else may read yet.
        let mode = match before {
            Before::Missing => 0o666,
            Before::File { .. } => 0o600,
        };
        let mode = Mode::from_raw_mode(mode);
        if let Some(file) = nameless(folder, mode) {
            return Ok(Self { folder, name: OsString::new(), file, drafts, note: None });
        }
        for _ in 0..TRIES {
            let name = fresh_name();
            match openat(folder.fd(), &name, flags, mode) {
                Ok(fd) => {
                    let mut temporary = Self { folder, name, file: File::from(fd), drafts, note: None };
                    temporary.note = temporary.noted(&temporary.name);
                    return Ok(temporary);
                }
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(no_free_name())
    }

    fn noted(&self, name: &OsStr) -> Option<Note> {
        self.drafts.as_ref()?.note(self.folder, name, &self.file)
    }

    /// Owner, rights and attributes of the file it replaces (EDIT-29, FND-02). What would give anybody other rights is an error.
    fn look_like(&self, before: &Before, name: &OsStr) -> Result<(), ReplaceError> {
        let Before::File { stat, .. } = before else { return Ok(()) };
        let failed = |error: Errno| ReplaceError::at("keep the rights")(error.into());
        let kept = Kept::of(&open_again(self.folder, name, stat)?.file)?;
        let (uid, gid) = (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid));
        if fchown(&self.file, Some(uid), Some(gid)).is_err() {
            // Who may not give a file away may still give it a group of theirs.
            let _ = fchown(&self.file, None, Some(gid));
        }
        let own = fstat(&self.file).map_err(failed)?;
        if own.st_gid != stat.st_gid && (stat.st_mode >> 3) & !stat.st_mode & 0o7 != 0 {
            let what = format!("cannot keep its group ({}), and another one would get its rights", stat.st_gid);
            return Err(ReplaceError::Unlike { what, source: io::ErrorKind::PermissionDenied.into() });
        }
        kept.take_off_others(&self.file)?;
        // With another owner, set-user-id would give away the wrong rights.
        let same_owner = (own.st_uid, own.st_gid) == (stat.st_uid, stat.st_gid);
        let mode = if same_owner { 0o7777 } else { 0o777 };
        fchmod(&self.file, Mode::from_raw_mode(stat.st_mode & mode)).map_err(failed)?;
        Ok(kept.put_on(&self.file)?)
    }

    /// The last look at what was there is right before the deed.
    fn take_the_place_of(mut self, name: &OsStr, before: &Before) -> Result<Stat, ReplaceError> {
        let put = ReplaceError::at("put the new content in place");
        match before {
            Before::File { .. } => {
                if self.name.is_empty()
                    && let Err(error) = self.get_a_name()
                {
                    return Err(put(error));
                }
                before.still_there(self.folder, name)?;
                renameat(self.folder.fd(), &self.name, self.folder.fd(), name).map_err(|error| put(error.into()))?;
            }
            Before::Missing => {
                before.still_there(self.folder, name)?;
                self.take_free_name(name)?;
            }
        }
        // Nothing is left under the temporary name.
        self.name = OsString::new();
        fstat(&self.file).map_err(|error| ReplaceError::at("look at the new file")(error.into()))
    }

    /// A name for a moment, where it was written without one.
    fn get_a_name(&mut self) -> io::Result<()> {
        let here = by_descriptor(&self.file);
        for _ in 0..TRIES {
            let name = fresh_name();
            self.note = self.noted(&name);
            match linkat(CWD, &here, self.folder.fd(), &name, AtFlags::SYMLINK_FOLLOW) {
                Ok(()) => {
                    self.name = name;
                    return Ok(());
                }
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(no_free_name())
    }

    /// Takes the name only if it is still free.
    fn take_free_name(&self, name: &OsStr) -> Result<(), ReplaceError> {
        let fd = self.folder.fd();
        let taken = match self.name.is_empty() {
            // It needs no other name before: a link replaces nothing.
            true => linkat(CWD, by_descriptor(&self.file), fd, name, AtFlags::SYMLINK_FOLLOW),
            false => match renameat_with(fd, &self.name, fd, name, RenameFlags::NOREPLACE) {
                // Not every file system can do this in one step.
                Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => self.take_free_name_as_link(name),
                done => done,
            },
        };
        match taken {
            Ok(()) => Ok(()),
            Err(Errno::EXIST) => Err(ReplaceError::Changed("it exists now")),
            Err(error) => Err(ReplaceError::at("put the new content in place")(error.into())),
        }
    }
}

impl Temporary<'_> {
    /// A second name never replaces anything either. Where there are no second names, the look a moment ago has to do.
    fn take_free_name_as_link(&self, name: &OsStr) -> Result<(), Errno> {
        let fd = self.folder.fd();
        match linkat(fd, &self.name, fd, name, AtFlags::empty()) {
            Ok(()) => unlinkat(fd, &self.name, AtFlags::empty()),
            Err(Errno::PERM | Errno::NOSYS | Errno::NOTSUP) => renameat(fd, &self.name, fd, name),
            Err(error) => Err(error),
        }
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.name.is_empty() {
            // Nothing can be done about a failure; the name says whose it is.
            let _ = unlinkat(self.folder.fd(), &self.name, AtFlags::empty());
        }
    }
}

/// A file without a name: of a process that is killed while it writes nothing stays behind. `None` where the file system has
/// no such files, or no name could be given to it later.
#[cfg(target_os = "linux")]
fn nameless(folder: &Folder, mode: Mode) -> Option<File> {
    let flags = OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC;
    let file = File::from(openat(folder.fd(), ".", flags, mode).ok()?);
    std::fs::metadata(by_descriptor(&file)).is_ok().then_some(file)
}

#[cfg(not(target_os = "linux"))]
fn nameless(_folder: &Folder, _mode: Mode) -> Option<File> {
    None
}

fn by_descriptor(file: &File) -> PathBuf {
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

fn no_free_name() -> io::Error {
    io::Error::new(io::ErrorKind::AlreadyExists, "no free name")
}

fn fresh_name() -> OsString {
    temporary_name(RandomState::new().build_hasher().finish())
}

/// Makes the names in a folder durable. File systems that cannot do this for folders keep them in order themselves.
fn durable(folder: &Folder) -> io::Result<()> {
    let Ok(fd) = folder.readable() else { return Ok(()) };
    match fsync(fd) {
        Err(Errno::INVAL | Errno::NOTSUP | Errno::BADF) | Ok(()) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests;
