//! What writing and editing share: the place, what was there, and the deed.

use std::{
    ffi::OsString,
    fs::File,
    io::{self, Read, Write},
    path::Path,
};

use agent_policy::Target;
use agent_protocol::{ErrorCode, ErrorPayload, path_text, shown_path};
use agent_redact::is_same_text;
use agent_tool::CallContext;
use rustix::fs::{Access, AtFlags, Stat, accessat};
use tokio_util::sync::CancellationToken;

use crate::{
    fail,
    place::{Before, Drafts, Folder, Found, ReplaceError, Writable},
    second_names::SecondNames,
    version::{ChangedBy, HASHED_MAX, changed, hash, version},
    workspace::{Workspace, difference, missing_target, no_file},
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
    drafts: Drafts,
    /// What is there under a name that looks the same.
    double: Option<String>,
}

/// Bigger files are neither edited nor read before they are replaced. Bytes.
pub(crate) const MAX_READ: u64 = 64 * 1024 * 1024;

impl Destination {
    /// Finds the place. A file that is there is read if it has at most [`MAX_READ`] bytes.
    pub(crate) fn find(workspace: &Workspace, requested: &str) -> Result<Self, ErrorPayload> {
        match workspace.find(requested)? {
            Found::Folder(_) => Err(fail::conflict(requested, format!("{requested} is a folder"))),
            Found::Missing { folder, missing } => Self::missing(workspace, requested, folder, missing),
            Found::Entry { folder, name, .. } => Self::existing(workspace, requested, folder, name),
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
        let double = workspace.double(&folder, missing.first().unwrap_or(&name));
        let shown = workspace.show(&resolved);
        let target = missing_target(requested, resolved);
        let drafts = Drafts::in_home(&workspace.rules().places().home);
        Ok(Self { target, shown, content: None, folder, to_make: missing, name, stat: None, drafts, double })
    }

    fn existing(workspace: &Workspace, requested: &str, folder: Folder, name: OsString) -> Result<Self, ErrorPayload> {
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
        if file.size() <= MAX_READ {
            (&file.file).take(MAX_READ + 1).read_to_end(&mut content).map_err(failed)?;
        }
        let read = file.size() <= MAX_READ && content.len() as u64 <= MAX_READ;
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
            drafts: Drafts::in_home(&workspace.rules().places().home),
            double: None,
        })
    }

    pub(crate) fn exists(&self) -> bool {
        self.stat.is_some()
    }

    /// Fails where making it would give two names of the same letters, which nobody can tell apart. Else what to say to whoever is
    /// asked, where a name merely looks the same.
    pub(crate) fn may_be_made(&self, workspace: &Workspace) -> Result<Option<String>, ErrorPayload> {
        let Some(double) = &self.double else { return Ok(None) };
        let shown = workspace.show(&self.folder.path().join(double));
        let wanted = self.to_make.first().unwrap_or(&self.name);
        let wanted = shown_path(wanted);
        if !is_same_text(double, &wanted) {
            return Ok(Some(format!("the new name looks like that of {shown}, which is there already")));
        }
        let requested = &self.target.requested;
        let message = format!(
            "{requested} is not there, but {shown} is, with the same letters in another form{}; use that name",
            difference(double, &wanted)
        );
        Err(fail::conflict(requested, message).detail("exists", shown))
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

    /// As versions of files know it: of small ones only.
    fn hash(&self) -> Option<[u8; 32]> {
        self.content.as_deref().filter(|content| content.len() as u64 <= HASHED_MAX).map(hash)
    }

    /// What to tell of other names of the file, which keep the old content.
    pub(crate) fn other_names(&self) -> Option<String> {
        match self.target.links {
            0 | 1 => None,
            2 => Some("the file had another name (a hard link), which keeps the old content".to_owned()),
            links => Some(format!("the file had {} other names (hard links), which keep the old content", links - 1)),
        }
    }

    /// Replaces what was there by `content`, if it is still there.
    pub(crate) fn write(self, content: &[u8], context: &CallContext) -> Result<(), ErrorPayload> {
        fail::unless_cancelled(&context.cancel)?;
        // Held while what is there is compared and replaced: other agents of the session may be about to write it as well.
        let _one_at_a_time = context.versions.exclusive(&self.target.resolved);
        let before = match self.stat {
            None => Before::Missing,
            // Whatever its size: what was read is what was decided about.
            Some(stat) => Before::File { stat, hash: self.content.as_deref().map(hash) },
        };
        let Self { folder, to_make, name, drafts, .. } = self;
        let writable = Writable { folder, to_make, name, before, drafts: Some(drafts) };
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
            gone if gone.code == ErrorCode::FileNotFound => fail::conflict(
                shown,
                format!("the folder of {shown} was moved or removed while this call waited; nothing was written"),
            ),
            other => other,
        },
        ReplaceError::Unlike { what, source } => {
            let error = fail::os("replace", shown, &source);
            let message = format!(
                "{shown} was not changed: {what} ({source}); take that off the file first, or change it with a command that \
                 writes into it"
            );
            ErrorPayload { message, ..error }.detail("kind", "attributes")
        }
        ReplaceError::NotDurable { source } => {
            let message = format!("{shown} has its new content, but the disk did not confirm it: {source}");
            ErrorPayload::new(ErrorCode::StorageError, message).detail("written", true)
        }
    };
    payload.detail("resolved_path", path_text(resolved))
}
