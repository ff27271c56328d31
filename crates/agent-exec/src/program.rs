//! From `argv[0]` to a program file, without a shell and without a current folder.

use crate::ProgramError;
use rustix::fs::{Access, AtFlags, CWD, accessat};
use std::{
    env,
    ffi::OsStr,
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

/// Finds the file that `argv0` names.
///
/// A name without a slash is looked up in the absolute folders of `path_var`, in their order; relative and empty
/// entries are skipped, as they would run whatever lies in the folder a command happens to start in. A name with a
/// slash is taken from `cwd`, which must be absolute. Only regular files this user may execute count. Symbolic links
/// are left as they are, as some programs act by the name they are called with.
///
/// A file that is swapped afterwards is run as it is then: this is a search, not a check.
pub fn resolve_program(argv0: &OsStr, path_var: &OsStr, cwd: &Path) -> Result<PathBuf, ProgramError> {
    if argv0.is_empty() {
        return Err(ProgramError::Empty);
    }
    let found = if argv0.as_bytes().contains(&b'/') { at(cwd.join(argv0)) } else { in_path(argv0, path_var) };
    match found {
        // A name with a space is fine where it exists ("/opt/My App/run"); where not, a shell line was meant.
        Err(ProgramError::NotInPath { .. } | ProgramError::Missing { .. }) if has_space(argv0) => {
            Err(ProgramError::CommandLine { argv0: argv0.to_owned() })
        }
        found => found,
    }
}

fn has_space(argv0: &OsStr) -> bool {
    argv0.as_bytes().iter().any(u8::is_ascii_whitespace)
}

/// The first program of that name wins. A file that is there but cannot be run is told only when nothing else is
/// found, as it explains the failure better than "not found".
fn in_path(name: &OsStr, path_var: &OsStr) -> Result<PathBuf, ProgramError> {
    let mut obstacle = None;
    let mut searched = 0;
    for folder in env::split_paths(path_var).filter(|folder| folder.is_absolute()) {
        searched += 1;
        match at(folder.join(name)) {
            Ok(program) => return Ok(program),
            Err(error @ ProgramError::NotExecutable { .. }) => obstacle = obstacle.or(Some(error)),
            Err(_) => {}
        }
    }
    Err(obstacle.unwrap_or_else(|| ProgramError::NotInPath { argv0: name.to_owned(), searched }))
}

fn at(path: PathBuf) -> Result<PathBuf, ProgramError> {
    match fs::metadata(&path) {
        Err(_) => Err(ProgramError::Missing { path }),
        Ok(found) if !found.is_file() => Err(ProgramError::NotAFile { path }),
        Ok(_) if accessat(CWD, &path, Access::EXEC_OK, AtFlags::EACCESS).is_err() => {
            Err(ProgramError::NotExecutable { path })
        }
        Ok(_) => Ok(path),
    }
}

#[cfg(test)]
mod tests;
