//! Folders held open, and files in them by name: no link is followed, whatever is put there meanwhile (MEM-5).

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, Read},
    os::{fd::OwnedFd, unix::ffi::OsStrExt},
    path::{Component, Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, Dir, FileType, Mode, OFlags, chmodat, fchmod, fstat, fsync, mkdirat, openat, statat, unlinkat},
    io::Errno,
};

use super::{
    MemoryError,
    draft::{Draft, PRIVATE, Put},
};

/// A folder.
#[derive(Debug)]
pub(super) struct Folder {
    fd: OwnedFd,
    path: PathBuf,
}

impl Folder {
    /// The memory folder. A link on the way counts as where it leads, which must be inside home. `None` if it does not
    /// exist and is not to be made.
    pub(super) fn memory(home: &Path, memory_dir: &Path, make: bool) -> Result<Option<Self>, MemoryError> {
        let Some((existing, missing)) = resolve(home, memory_dir)? else { return Ok(None) };
        let flags = HOLD | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let root =
            rustix::fs::open("/", flags, Mode::empty()).map_err(|e| MemoryError::os("open", Path::new("/"), e))?;
        let mut here = Self { fd: root, path: PathBuf::from("/") };
        for part in existing.components() {
            let Component::Normal(name) = part else { continue };
            match here.child(name, false)? {
                Some(child) => here = child,
                None => return Ok(None),
            }
        }
        for name in missing.iter().rev() {
            match here.child(name, make)? {
                Some(child) => here = child,
                None => return Ok(None),
            }
        }
        Ok(Some(here))
    }

    /// The folder itself, for calls that work in it.
    pub(super) fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// A folder in it; made with mode 0700 (CFG-12) if there is none and it is wanted.
    pub(super) fn child(&self, name: &OsStr, make: bool) -> Result<Option<Self>, MemoryError> {
        let path = self.path.join(name);
        if make {
            let mode = Mode::from_raw_mode(0o700);
            match mkdirat(&self.fd, name, mode) {
                // A umask can only take bits away, but it may take the owner's.
                Ok(()) => chmodat(&self.fd, name, mode, AtFlags::empty())
                    .map_err(|error| MemoryError::os("set the mode of", &path, error))
                    .and_then(|()| self.durable())?,
                Err(Errno::EXIST) => {}
                Err(error) => return Err(MemoryError::os("make the folder", &path, error)),
            }
        }
        self.open(name, path)
    }

    fn open(&self, name: &OsStr, path: PathBuf) -> Result<Option<Self>, MemoryError> {
        // To pass through, no right to read is needed; what is worked in is opened again.
        let flags = HOLD | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match openat(&self.fd, name, flags, Mode::empty()) {
            Ok(fd) => Ok(Some(Self { fd, path })),
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::LOOP | Errno::NOTDIR) if self.is_link(name) => Err(MemoryError::Link { path }),
            Err(Errno::NOTDIR) => Err(MemoryError::NotA { path, expected: "a folder" }),
            Err(error) => Err(MemoryError::os("open the folder", &path, error)),
        }
    }

    fn is_link(&self, name: &OsStr) -> bool {
        statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
    }

    fn readable(&self) -> rustix::io::Result<OwnedFd> {
        openat(&self.fd, c".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
    }

    /// Its names, at most `limit` of those that are `wanted`, sorted; and whether there are more.
    pub(super) fn names(&self, limit: usize, wanted: fn(&[u8]) -> bool) -> Result<(Vec<OsString>, bool), MemoryError> {
        let failed = |error: Errno| MemoryError::os("read the folder", &self.path, error);
        let mut names = Vec::new();
        let mut more = false;
        for entry in Dir::new(self.readable().map_err(failed)?).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().to_bytes();
            if !wanted(name) {
                continue;
            }
            if names.len() == limit {
                more = true;
                break;
            }
            names.push(OsStr::from_bytes(name).to_owned());
        }
        names.sort();
        Ok((names, more))
    }

    /// The content of a regular file; `None` if there is nothing.
    pub(super) fn read(&self, name: &OsStr, limit: u64) -> Result<Option<Vec<u8>>, MemoryError> {
        let path = self.path.join(name);
        // Without waiting, should a pipe lie there.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        // Opening some devices has an effect.
        match statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW).map(|stat| FileType::from_raw_mode(stat.st_mode)) {
            Ok(FileType::RegularFile) => {}
            Ok(FileType::Symlink) => return Err(MemoryError::Link { path }),
            Ok(_) => return Err(MemoryError::NotA { path, expected: "a regular file" }),
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(MemoryError::os("look at", &path, error)),
        }
        let file = match openat(&self.fd, name, flags, Mode::empty()) {
            Ok(fd) => File::from(fd),
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => return Err(MemoryError::Link { path }),
            Err(error) => return Err(MemoryError::os("open", &path, error)),
        };
        let stat = fstat(&file).map_err(|error| MemoryError::os("look at", &path, error))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(MemoryError::NotA { path, expected: "a regular file" });
        }
        let mut bytes = Vec::new();
        file.take(limit + 1).read_to_end(&mut bytes).map_err(|error| MemoryError::os("read", &path, error))?;
        if bytes.len() as u64 > limit {
            return Err(MemoryError::TooBig { path, limit });
        }
        Ok(Some(bytes))
    }

    /// Puts a whole file with mode 0600 in the place of what was there, if that is still `before`.
    pub(super) fn put(&self, name: &OsStr, before: Option<&[u8]>, bytes: &[u8]) -> Result<Put, MemoryError> {
        let path = self.path.join(name);
        let failed = |error: io::Error| MemoryError::os("write", &path, error);
        let mut draft = Draft::make(self.fd()).map_err(failed)?;
        draft.fill(bytes).map_err(failed)?;
        // Compare before rename (MEM-07): people take no lock.
        let limit = before.map_or(0, |before| before.len() as u64);
        let put = match self.read(name, limit) {
            Ok(now) if now.as_deref() == before => draft.take_name(name, before.is_some()).map_err(failed)?,
            Ok(_) | Err(MemoryError::TooBig { .. }) => Put::Changed,
            Err(error) => return Err(error),
        };
        self.durable()?;
        Ok(put)
    }

    /// Removes a regular file.
    pub(super) fn remove(&self, name: &OsStr) -> Result<(), MemoryError> {
        let path = self.path.join(name);
        match unlinkat(&self.fd, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => self.durable(),
            Err(error) => Err(MemoryError::os("remove", &path, error)),
        }
    }

    /// Opens the file that is locked; made with mode 0600 if there is none.
    pub(super) fn open_lock(&self, name: &OsStr) -> Result<File, MemoryError> {
        let path = self.path.join(name);
        let open = |more: OFlags| {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | more;
            openat(&self.fd, name, flags, PRIVATE).map(File::from)
        };
        let opened = match open(OFlags::CREATE | OFlags::EXCL) {
            Ok(made) => fchmod(&made, PRIVATE).map(|()| made),
            Err(Errno::EXIST) => open(OFlags::empty()),
            Err(error) => Err(error),
        };
        match opened {
            Err(Errno::LOOP) => Err(MemoryError::Link { path }),
            opened => opened.map_err(|error| MemoryError::os("open the lock", &path, error)),
        }
    }

    /// Whether a name still stands for an open file.
    pub(super) fn is_at(&self, file: &File, name: &OsStr) -> Result<bool, MemoryError> {
        let failed = |error: Errno| MemoryError::os("look at", &self.path.join(name), error);
        let held = fstat(file).map_err(failed)?;
        match statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(there) => Ok((held.st_dev, held.st_ino) == (there.st_dev, there.st_ino)),
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(failed(error)),
        }
    }

    /// Makes its names durable. File systems that cannot do this for folders keep them in order themselves.
    fn durable(&self) -> Result<(), MemoryError> {
        let Ok(fd) = self.readable() else { return Ok(()) };
        match fsync(fd) {
            Err(Errno::INVAL | Errno::NOTSUP | Errno::BADF) | Ok(()) => Ok(()),
            Err(error) => Err(MemoryError::os("make durable", &self.path, error)),
        }
    }
}

/// Enough to open what is in the folder.
#[cfg(target_os = "linux")]
const HOLD: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const HOLD: OFlags = OFlags::RDONLY;

/// Where the memory folder really is, as far as it exists, and the names that are missing, the last one first. `None` if
/// there is no home.
fn resolve(home: &Path, memory_dir: &Path) -> Result<Option<(PathBuf, Vec<OsString>)>, MemoryError> {
    let outside = |found: &Path| MemoryError::NotInHome { memory_dir: found.to_owned(), home: home.to_owned() };
    let below = memory_dir.strip_prefix(home).map_err(|_| outside(memory_dir))?;
    let is_plain = below.components().all(|part| matches!(part, Component::Normal(_)));
    if below.as_os_str().is_empty() || !is_plain {
        return Err(outside(memory_dir));
    }
    let real_home = match home.canonicalize() {
        Ok(real) => real,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(MemoryError::os("resolve", home, error)),
    };
    let mut missing = Vec::new();
    let mut here = memory_dir;
    loop {
        match here.canonicalize() {
            // The folder itself must not be home: its folders would lie among what others keep there.
            Ok(real) if real.starts_with(&real_home) && (real != real_home || !missing.is_empty()) => {
                return Ok(Some((real, missing)));
            }
            Ok(real) => return Err(outside(&real)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(MemoryError::os("resolve", here, error)),
        }
        let (Some(parent), Some(name)) = (here.parent(), here.file_name()) else { return Err(outside(memory_dir)) };
        missing.push(name.to_owned());
        here = parent;
    }
}
