//! What the code tools share: paths as the model writes them, and what the facts say of what they lead to.

use std::{
    ffi::{OsStr, OsString},
    io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use agent_policy::{Access, PathRules, Target, TargetKind};
use agent_protocol::{ErrorCode, ErrorPayload, path_from_shown, shown_path};
use agent_redact::{differing_characters, is_same_text, looks_the_same};
use agent_tool::near_files;
use rustix::fs::FileType;

use crate::{
    fail,
    place::{Folder, Found, Identity, OpenFile, WalkError, identity, kind_name, walk},
    settings::CodeToolSettings,
};

/// How many entries of a folder are looked through for a name that was probably meant.
const MAX_LOOKED_THROUGH: usize = 4096;

/// How many entries of a folder are told where none has a name like the wanted one.
const MAX_ENTRIES: usize = 12;
/// How long they may be together. Bytes.
const MAX_LISTED: usize = 800;

/// No system takes longer ones, and none should be repeated in a message.
const LONGEST_PATH: usize = 4096;

/// The settings, and the questions every tool asks of them.
#[derive(Debug, Clone)]
pub(crate) struct Workspace(Arc<CodeToolSettings>);

impl Workspace {
    pub(crate) fn new(settings: CodeToolSettings) -> Self {
        Self(Arc::new(settings))
    }

    pub(crate) fn settings(&self) -> &CodeToolSettings {
        &self.0
    }

    pub(crate) fn rules(&self) -> &PathRules {
        &self.0.rules
    }

    pub(crate) fn project(&self) -> &Path {
        &self.rules().places().project
    }

    /// Follows a path as the model wrote it: relative to the project, with `~` for the user's home, and bytes that are no text as
    /// results show them.
    pub(crate) fn find(&self, requested: &str) -> Result<Found, ErrorPayload> {
        let absolute = self.absolute(requested)?;
        let found = walk(&absolute);
        if !matches!(found, Ok(Found::Folder(_) | Found::Entry { .. })) {
            self.still_has_its_project(&absolute)?;
            // What is open in a process has a path that leads to no name: `/dev/stdin`.
            if let Ok(kind) = rustix::fs::stat(&absolute).map(|stat| FileType::from_raw_mode(stat.st_mode))
                && !matches!(kind, FileType::RegularFile | FileType::Directory)
            {
                return Err(no_file(requested, kind));
            }
        }
        found.map_err(|error| walk_failed(requested, &error))
    }

    /// Fails where the path lies in a project that is not there any more: what is missing then is not the file, and writing it
    /// would make the project again.
    fn still_has_its_project(&self, path: &Path) -> Result<(), ErrorPayload> {
        let project = self.project();
        if !path.starts_with(project) || rustix::fs::stat(project).is_ok() {
            return Ok(());
        }
        let shown = shown_path(project);
        let message = format!("the project folder {shown} is gone: it was moved or removed while this run was at work");
        Err(ErrorPayload::new(ErrorCode::FileNotFound, message)
            .detail("path", shown.to_string())
            .detail("kind", "project"))
    }

    fn absolute(&self, requested: &str) -> Result<PathBuf, ErrorPayload> {
        if requested.is_empty() {
            return Err(fail::invalid("the path is empty"));
        }
        let path = path_from_shown(requested);
        let length = path.as_os_str().len();
        if length > LONGEST_PATH {
            return Err(fail::invalid(format!("the path is {length} bytes long, and {LONGEST_PATH} are the most")));
        }
        if requested.contains('\0') {
            return Err(fail::invalid("the path holds a NUL character"));
        }
        match requested.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                let home = self.rules().places().user_home.as_deref();
                let home = home.ok_or_else(|| fail::invalid("`~` is not known here; write the path out"))?;
                Ok(home.join(path_from_shown(rest.trim_start_matches('/'))))
            }
            _ => Ok(self.project().join(path)),
        }
    }

    /// Opens a file to read it.
    pub(crate) fn open_file(&self, requested: &str) -> Result<OpenFile, ErrorPayload> {
        match self.find(requested)? {
            Found::Folder(_) => {
                let list = serde_json::json!({"path": requested});
                Err(fail::invalid(format!("{requested} is a folder; call code.list_dir {list} to see what is in it")))
            }
            Found::Missing { folder, missing } => Err(self.missing(requested, &folder, &missing[0])),
            Found::Entry { folder, name, .. } => match self.open(&folder, &name) {
                Err(error) => Err(fail::os("open", requested, &error)),
                Ok(Err(kind)) => Err(no_file(requested, kind)),
                Ok(Ok(file)) => Ok(file),
            },
        }
    }

    /// Opens a file of a folder to read it; `Ok(Err(_))` is something that is no file.
    ///
    /// Not our own session database, under whatever name: this process holds it open, and closing any other descriptor of
    /// a file drops the locks that its process has on it. Other programs would then take the database for unused.
    pub(crate) fn open(&self, folder: &Folder, name: &OsStr) -> io::Result<Result<OpenFile, FileType>> {
        OpenFile::open(folder, name, |found| match self.session_database().contains(&identity(found)) {
            true => Err(io::Error::other("soong-agent itself has it open as its session database")),
            false => Ok(()),
        })
    }

    /// What the files of our session database are.
    pub(crate) fn session_database(&self) -> Vec<Identity> {
        let database = self.rules().places().session_db.as_os_str();
        let found = ["", "-wal", "-shm"].iter().filter_map(|suffix| {
            let mut path = database.to_owned();
            path.push(suffix);
            rustix::fs::stat(Path::new(&path)).ok()
        });
        found.map(|found| identity(&found)).collect()
    }

    /// No such file; with names that were probably meant by the first one on the way that is missing.
    pub(crate) fn missing(&self, requested: &str, folder: &Folder, first: &OsStr) -> ErrorPayload {
        let near = self.near(folder, first);
        let first = shown_path(first);
        let shown =
            near.iter().map(|name| self.show(&folder.path().join(path_from_shown(name))) + &difference(name, &first));
        let hint = match near.is_empty() {
            true => self.entries(folder).map_or_else(String::new, |there| format!("; {there}")),
            false => format!("; did you mean {}?", shown.collect::<Vec<_>>().join(" or ")),
        };
        ErrorPayload::new(ErrorCode::FileNotFound, format!("{requested} does not exist{hint}"))
            .detail("path", requested)
    }

    /// Names as they are shown, of folders anybody may list.
    fn near(&self, folder: &Folder, wanted: &OsStr) -> Vec<String> {
        if !self.settings().reading_is_free || self.rules().sensitive(folder.path()).is_some() {
            return Vec::new();
        }
        let names: Vec<String> = names(folder, MAX_LOOKED_THROUGH).map(|name| shown_path(&name).into_owned()).collect();
        let near = near_files(&shown_path(wanted), names.iter().map(String::as_str));
        near.into_iter().map(str::to_owned).collect()
    }

    /// What there is in a folder under a name that looks the same as one that is to be made.
    pub(crate) fn double(&self, folder: &Folder, wanted: &OsStr) -> Option<String> {
        let wanted = wanted.to_str().filter(|_| self.rules().sensitive(folder.path()).is_none())?;
        let mut doubles: Vec<String> = names(folder, MAX_LOOKED_THROUGH)
            .filter_map(|name| name.into_string().ok())
            .filter(|name| looks_the_same(name, wanted))
            .collect();
        // The same text first: that is more than looks.
        doubles.sort_by_key(|name| !is_same_text(name, wanted));
        doubles.into_iter().next()
    }

    /// Whether what is in a file may be told without anybody being asked: whether reading it would be free, by the name in the
    /// request, the one it leads to, and its others.
    pub(crate) fn may_tell(&self, target: &Target) -> bool {
        let rules = self.rules();
        let written = rules.as_written(path_from_shown(&target.requested), self.project());
        let is_sensitive = |path: &Path| rules.sensitive(path).is_some();
        self.settings().reading_is_free
            && !is_sensitive(&target.resolved)
            && !is_sensitive(&written)
            && target.aliases.is_empty()
    }

    /// What is in a folder, for whoever guessed a name in it; the names alone of what may be read unasked.
    fn entries(&self, folder: &Folder) -> Option<String> {
        let rules = self.rules();
        if !self.settings().reading_is_free || rules.sensitive(folder.path()).is_some() {
            return None;
        }
        let is_told = |name: &OsString| rules.sensitive_entry(&folder.path().join(name)).is_none();
        let mut names: Vec<_> = names(folder, MAX_LOOKED_THROUGH).filter(is_told).collect();
        names.sort();
        let mut room = MAX_LISTED;
        let mut listed: Vec<_> = names
            .iter()
            .take(MAX_ENTRIES)
            .map(|name| shown_path(name).into_owned())
            .take_while(|name| {
                let fits = name.len() <= room;
                room = room.saturating_sub(name.len());
                fits
            })
            .collect();
        if names.len() > listed.len() {
            listed.push(format!("… ({} in all)", names.len()));
        }
        let shown = if folder.path() == self.project() { "the project".to_owned() } else { self.show(folder.path()) };
        Some(match listed.as_slice() {
            [] => format!("{shown} is empty"),
            listed => format!("{shown} has {}", listed.join(", ")),
        })
    }

    /// A path as results tell it and calls may give it: relative to the project where it lies in it.
    pub(crate) fn show(&self, path: &Path) -> String {
        let shown = match path.strip_prefix(self.project()) {
            Ok(rest) if rest.as_os_str().is_empty() => Path::new("."),
            Ok(rest) => rest,
            Err(_) => path,
        };
        shown_path(shown).into_owned()
    }
}

/// In what a name differs from one that looks the same, for a message; nothing where it is seen.
pub(crate) fn difference(name: &str, wanted: &str) -> String {
    if !looks_the_same(name, wanted) {
        return String::new();
    }
    let differing = differing_characters(name, wanted);
    differing.map_or_else(String::new, |(its, yours)| format!(" (it has {its} where you have {yours})"))
}

/// Up to `most` names in a folder, in no order; none if it cannot be read.
fn names(folder: &Folder, most: usize) -> impl Iterator<Item = OsString> {
    folder
        .entries()
        .into_iter()
        .flatten()
        .filter_map(Result::ok)
        .map(|entry| OsStr::from_bytes(entry.file_name().to_bytes()).to_owned())
        .filter(|name| name != "." && name != "..")
        .take(most)
}

/// Something that cannot be read or written like a file, where a moment ago there was no folder and no link.
pub(crate) fn no_file(requested: &str, kind: FileType) -> ErrorPayload {
    let kind_name = kind_name(kind);
    match kind {
        FileType::Directory | FileType::Symlink => {
            fail::conflict(requested, format!("{requested} keeps changing: it is a {kind_name} now"))
        }
        _ => fail::invalid(format!("{requested} is a {kind_name}; only regular files can be used"))
            .detail("path", requested),
    }
}

fn walk_failed(requested: &str, error: &WalkError) -> ErrorPayload {
    match error {
        WalkError::NotAFolder(_) => {
            ErrorPayload::new(ErrorCode::FileNotFound, format!("{requested} does not exist: {error}"))
                .detail("path", requested)
        }
        WalkError::Links(_) => fail::invalid(error.to_string()).detail("path", requested),
        WalkError::Os { source, .. } => fail::os("look at", requested, source),
    }
}

/// The facts about something that does not exist yet.
pub(crate) fn missing_target(requested: &str, resolved: PathBuf) -> Target {
    Target {
        requested: requested.to_owned(),
        resolved,
        access: Access::Write,
        kind: TargetKind::Missing,
        links: 0,
        aliases: Vec::new(),
    }
}

#[cfg(test)]
mod tests;
