//! What writing and editing share: the place, what was there, and the deed.

use std::{
    ffi::OsString,
    fs::File,
    io::{self, Read, Write},
    path::Path,
};

use agent_policy::Target;
use agent_protocol::{ErrorCode, ErrorPayload};
use agent_tool::CallContext;
use rustix::fs::{Access, AtFlags, Stat, accessat};
use tokio_util::sync::CancellationToken;

use crate::{
    fail,
    place::{Before, Folder, Found, ReplaceError, Writable},
    second_names::SecondNames,
    version::{ChangedBy, HASHED_MAX, changed, hash, version},
    workspace::{Workspace, missing_target, no_file},
};

/// Content goes to disk in pieces of this size, so that a cancel is noticed. Bytes.
const PIECE: usize = 1024 * 1024;

/// A place that may be written, with the facts about it.
pub(crate) struct Destination {
    pub(crate) target: Target,
    /// The path as results tell it.
    pub(crate) shown: String,
    /// What is there, if it was read.
    pub(crate) content: Option<Vec<u8>>,
    folder: Folder,
    to_make: Vec<OsString>,
    name: OsString,
    stat: Option<Stat>,
}

impl Destination {
    /// Finds the place. A file that is there is read if it has at most `read_max` bytes.
    pub(crate) fn find(workspace: &Workspace, requested: &str, read_max: u64) -> Result<Self, ErrorPayload> {
        match workspace.find(requested)? {
            Found::Folder(_) => Err(fail::conflict(requested, format!("{requested} is a folder"))),
            Found::Missing { folder, missing } => Self::missing(workspace, requested, folder, missing),
            Found::Entry { folder, name, .. } => Self::existing(workspace, requested, folder, name, read_max),
        }
    }

    fn missing(
        workspace: &Workspace,
        requested: &str,
        folder: Folder,
        mut missing: Vec<OsString>,
    ) -> Result<Self, ErrorPayload> {
        let resolved = missing.iter().fold(folder.path().to_owned(), |path, name| path.join(name));
        if requested.ends_with('/') {
            return Err(fail::invalid(format!("{requested} names a folder; name a file")));
        }
        let name = missing.pop().ok_or_else(|| fail::invalid("the path names no file"))?;
        let shown = workspace.show(&resolved);
        let target = missing_target(requested, resolved);
        Ok(Self { target, shown, content: None, folder, to_make: missing, name, stat: None })
    }

    fn existing(
        workspace: &Workspace,
        requested: &str,
        folder: Folder,
        name: OsString,
        read_max: u64,
    ) -> Result<Self, ErrorPayload> {
        let failed = |error: io::Error| fail::os("read", requested, &error);
        let file = match workspace.open(&folder, &name).map_err(failed)? {
            Ok(file) => file,
            Err(kind) => return Err(no_file(requested, kind)),
        };
        // Replacing a name needs no right to the file itself; a file that is protected from writing is left alone.
        if let Err(error) = accessat(folder.fd(), &name, Access::WRITE_OK, AtFlags::EACCESS) {
            return Err(fail::os("write", requested, &error.into()));
        }
        let mut content = Vec::new();
        if file.size() <= read_max {
            (&file.file).take(read_max + 1).read_to_end(&mut content).map_err(failed)?;
        }
        let read = file.size() <= read_max && content.len() as u64 <= read_max;
        let path = folder.path().join(&name);
        let names = SecondNames::near(workspace, folder.path());
        Ok(Self {
            target: names.target(requested, &path, agent_policy::Access::Write, &file.stat),
            shown: workspace.show(&path),
            content: read.then_some(content),
            folder,
            to_make: Vec::new(),
            name,
            stat: Some(file.stat),
        })
    }

    pub(crate) fn exists(&self) -> bool {
        self.stat.is_some()
    }

    /// Whether folders would have to be made for it.
    pub(crate) fn needs_folders(&self) -> bool {
        !self.to_make.is_empty()
    }

    /// The error where a file that exists was wanted.
    pub(crate) fn is_missing(&self, workspace: &Workspace) -> ErrorPayload {
        let first = self.to_make.first().unwrap_or(&self.name);
        workspace.missing(&self.target.requested, &self.folder, first)
    }

    /// How big what is there is. Bytes.
    pub(crate) fn size(&self) -> u64 {
        self.stat.as_ref().map_or(0, |stat| u64::try_from(stat.st_size).unwrap_or(0))
    }

    /// Who changed the file since the agent last read or wrote it, if somebody did (COD-5).
    pub(crate) fn changed_since_seen(&self, context: &CallContext) -> Option<ChangedBy> {
        let stat = self.stat.as_ref()?;
        changed(&*context.versions, &self.target.resolved, stat, self.hash())
    }

    fn hash(&self) -> Option<[u8; 32]> {
        self.content.as_deref().filter(|content| content.len() as u64 <= HASHED_MAX).map(hash)
    }

    /// Replaces what was there by `content`, if it is still there.
    pub(crate) fn write(self, content: &[u8], context: &CallContext) -> Result<(), ErrorPayload> {
        fail::unless_cancelled(&context.cancel)?;
        // Held while what is there is compared and replaced: other agents of the session may be about to write it as well.
        let _one_at_a_time = context.versions.exclusive(&self.target.resolved);
        let before = match self.stat {
            None => Before::Missing,
            Some(stat) => Before::File { stat, hash: self.hash() },
        };
        let writable = Writable { folder: self.folder, to_make: self.to_make, name: self.name, before };
        let fill = |file: &mut File| write_pieces(file, content, &context.cancel);
        let stamp = match writable.replace(&context.fence, fill) {
            Ok(stamp) => stamp,
            Err(error) => return Err(refused(&self.shown, &self.target.resolved, error, &context.cancel)),
        };
        context.versions.wrote(&self.target.resolved, version(content, stamp));
        Ok(())
    }
}

fn write_pieces(file: &mut File, content: &[u8], cancel: &CancellationToken) -> io::Result<()> {
    for piece in content.chunks(PIECE) {
        if cancel.is_cancelled() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        file.write_all(piece)?;
    }
    Ok(())
}

fn refused(shown: &str, resolved: &Path, error: ReplaceError, cancel: &CancellationToken) -> ErrorPayload {
    let payload = match error {
        ReplaceError::Changed(how) => {
            fail::conflict(shown, format!("{shown} changed while this call waited: {how}; read it again"))
        }
        ReplaceError::TooLate(closed) => fail::too_late(closed),
        ReplaceError::Os { source, .. } if source.kind() == io::ErrorKind::Interrupted && cancel.is_cancelled() => {
            fail::cancelled()
        }
        ReplaceError::Os { step, source } => match fail::os(&format!("{step} for"), shown, &source) {
            // What was there when the call was prepared is gone.
            gone if gone.code == ErrorCode::FileNotFound => fail::conflict(shown, gone.message),
            other => other,
        },
        ReplaceError::NotDurable { source } => {
            let message = format!("{shown} has its new content, but the disk did not confirm it: {source}");
            ErrorPayload::new(ErrorCode::StorageError, message).detail("written", true)
        }
    };
    payload.detail("resolved_path", resolved.to_string_lossy().into_owned())
}
