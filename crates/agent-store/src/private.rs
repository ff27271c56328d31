//! Files and folders that only their owner can read, whatever the umask (CFG-12).

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{CWD, RenameFlags};
use rustix::io::Errno;
use uuid::Uuid;

/// Makes what is missing of `path`, each folder with mode 0700. Folders that exist stay as they are.
pub(crate) fn folders(path: &Path) -> io::Result<()> {
    let missing: Vec<&Path> =
        path.ancestors().take_while(|folder| !folder.as_os_str().is_empty() && !folder.is_dir()).collect();
    for folder in missing.into_iter().rev() {
        match DirBuilder::new().mode(0o700).create(folder) {
            // A umask can only take bits away, but it may take the owner's.
            Ok(()) => fs::set_permissions(folder, Permissions::from_mode(0o700))?,
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// Makes a file with mode 0600.
///
/// # Errors
/// `AlreadyExists` if something has that name, a dangling link included.
pub(crate) fn new_file(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    Ok(file)
}

/// Opens a file to read and write; makes it with mode 0600 if there is none. One that exists keeps its mode and content.
pub(crate) fn open_or_make(path: &Path) -> io::Result<File> {
    match new_file(path) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => OpenOptions::new().read(true).write(true).open(path),
        made => made,
    }
}

/// Makes an empty file with mode 0600 that nobody has ever seen open. If something has that name already, it stays.
pub(crate) fn new_closed_file(path: &Path) -> io::Result<()> {
    let mut draft = path.as_os_str().to_owned();
    draft.push(format!(".{}.new", Uuid::now_v7().simple()));
    drop(new_file(Path::new(&draft))?);
    match rustix::fs::renameat_with(CWD, &draft, CWD, path, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(()),
        Err(e) => {
            fs::remove_file(&draft)?;
            if e == Errno::EXIST { Ok(()) } else { Err(e.into()) }
        }
    }
}
