//! What a command depends on beyond its words: what its arguments lead to, and the content of what the model may have
//! written or chosen (PRM-4).
//!
//! Which words name files is not known, so every part of a word that exists is taken for a name. What does not exist now
//! needs no tie: should it come to be, it is found, and the command is another one. A folder stands for the files directly
//! in it, as `python3 folder` runs one of them; what these load in turn is no more tied than what a script loads. Words are
//! also looked up below the folders that other words name (`env -C sub sh x.sh`), as names of modules, and as patterns.

mod content;
mod expansion;
mod listing;
mod modules;
mod printers;
mod words;

use std::{
    collections::{BTreeSet, HashSet},
    env,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use agent_policy::{Access, CodeFile, Root, Target};
use rustix::{
    fs::{FileType, Stat, fstat, stat},
    io::Errno,
};

use crate::{
    place::{Found, walk},
    second_names::SecondNames,
    workspace::Workspace,
};
use content::Reader;
use listing::Listings;

/// How many parts of words are looked up.
const MAX_LOOKUPS: usize = 4096;
/// How many of them may exist.
const MAX_NAMED: usize = 256;

/// What was found. Equal ties mean that the same files would be run and read.
#[derive(Debug, Default)]
pub(super) struct Ties {
    /// The program and the files.
    files: Vec<CodeFile>,
    /// Folders, given as arguments or searched for programs.
    folders: Vec<CodeFile>,
    /// Everything that exists.
    pub(super) named: Vec<Target>,
    /// What of it no word names as it is.
    pub(super) guessed: BTreeSet<PathBuf>,
    /// Why this is not all.
    pub(super) untied: Option<String>,
}

impl Ties {
    /// `path_var` is the search path that the program is given.
    pub(super) fn find(
        workspace: &Workspace,
        program: &Path,
        argv: &[String],
        cwd: &Path,
        path_var: Option<&OsStr>,
    ) -> Self {
        let mut search = Search {
            workspace,
            cwd,
            seen: HashSet::new(),
            named: HashSet::new(),
            spelled_out: HashSet::new(),
            found: Vec::new(),
            bases: vec![cwd.to_owned()],
            listings: Listings::default(),
            steps: 0,
            names: SecondNames::new(workspace),
            reader: Reader::new(),
            ties: Self::default(),
        };
        let interpreter = search.program(program);
        let called = argv.first().map_or("", String::as_str);
        let words: Vec<&str> = interpreter.iter().chain(argv.iter().skip(1)).map(String::as_str).collect();
        search.words(&words);
        search.tell_guesses();
        let is_known = interpreter.is_none() && !search.ties.files.is_empty() && !search.is_writable(program);
        if is_known && printers::only_prints(called, program) {
            // Nothing is made of its words: what they name as they are is still told where it is somebody's secret.
            let Self { files, folders, named, guessed, untied } = &mut search.ties;
            files.truncate(1);
            folders.clear();
            named.retain(|target| !guessed.contains(&target.resolved));
            guessed.clear();
            *untied = None;
            return search.ties;
        }
        for folder in path_var.into_iter().flat_map(env::split_paths) {
            search.searched(&folder);
        }
        if let Some(note) = search.names.note() {
            search.ties.untied.get_or_insert_with(|| note.to_owned());
        }
        search.ties
    }

    /// What a grant is tied to.
    pub(super) fn code(&self) -> Vec<CodeFile> {
        self.files.iter().chain(&self.folders).cloned().collect()
    }

    /// Whether what was decided about is still there. What is in a folder may change while somebody thinks about the
    /// question: logs grow, and the folder stays the one that was shown.
    pub(super) fn still_hold(&self, now: &Self) -> bool {
        fn same(one: &Target, other: &Target) -> bool {
            one.requested == other.requested
                && one.resolved == other.resolved
                && one.kind == other.kind
                && one.aliases == other.aliases
        }
        self.files == now.files
            && self.named.len() == now.named.len()
            && self.named.iter().zip(&now.named).all(|(one, other)| same(one, other))
    }
}

struct Search<'a> {
    workspace: &'a Workspace,
    cwd: &'a Path,
    seen: HashSet<PathBuf>,
    /// Those of them that were also looked up with extensions.
    named: HashSet<PathBuf>,
    /// What words name as it is, in the working directory.
    spelled_out: HashSet<PathBuf>,
    /// What was found: where it was looked up, and where it is.
    found: Vec<(PathBuf, PathBuf)>,
    /// Where words are looked up: the working directory, and writable folders that words name.
    bases: Vec<PathBuf>,
    listings: Listings,
    /// Entries that patterns were followed through.
    steps: usize,
    names: SecondNames,
    reader: Reader,
    ties: Ties,
}

impl Search<'_> {
    /// The program itself, whatever folder it is in. Hands back the interpreter its first line names.
    fn program(&mut self, program: &Path) -> Option<String> {
        let Ok(Found::Entry { folder, name, stat }) = walk(program) else {
            self.untied(program, "cannot be looked at");
            return None;
        };
        let path = folder.path().join(&name);
        let content = self.reader.file(self.workspace, &folder, &name, &stat);
        let writable = self.is_writable(&path);
        self.ties.files.push(CodeFile { path, hash: content.hash, writable });
        content.interpreter
    }

    /// Looks one path up, once.
    fn look(&mut self, reading: &str, path: &Path, base: &Path) {
        if self.ties.untied.is_some() || !self.seen.insert(path.to_owned()) {
            return;
        }
        if self.seen.len() > MAX_LOOKUPS || self.ties.named.len() >= MAX_NAMED {
            return self.too_many();
        }
        // Most readings of most words are no files, and this tells at the least cost.
        match stat(path) {
            Ok(_) => {}
            Err(Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG | Errno::LOOP) => return,
            Err(_) => return self.untied(path, "cannot be looked at"),
        }
        match walk(path) {
            Ok(Found::Missing { .. }) => {}
            Ok(found) => self.found(reading, path, base, &found),
            Err(_) => self.untied(path, "cannot be looked at"),
        }
    }

    /// Notes what was found otherwise than by its name.
    fn tell_guesses(&mut self) {
        let by_name = |at: &PathBuf| self.spelled_out.contains(at);
        let named: HashSet<&PathBuf> = self.found.iter().filter(|(at, _)| by_name(at)).map(|(_, path)| path).collect();
        let guessed = self.found.iter().map(|(_, path)| path).filter(|path| !named.contains(path));
        self.ties.guessed = guessed.cloned().collect();
    }

    fn too_many(&mut self) {
        let why = "its arguments may name more files than can be looked at";
        self.ties.untied.get_or_insert_with(|| why.to_owned());
    }

    fn found(&mut self, reading: &str, path: &Path, base: &Path, found: &Found) {
        let (resolved, stat) = match found {
            Found::Folder(folder) => (folder.path().to_owned(), fstat(folder.fd()).ok()),
            Found::Entry { folder, name, stat } => (folder.path().join(name), Some(*stat)),
            Found::Missing { .. } => return,
        };
        let Some(stat) = stat else { return self.untied(&resolved, "cannot be looked at") };
        let target = self.names.target(reading, &resolved, Access::Read, &stat);
        self.ties.named.push(target);
        self.found.push((path.to_owned(), resolved.clone()));
        let by_name = self.workspace.rules().as_written(path, base);
        if self.is_writable(&resolved) || self.is_writable(&by_name) {
            if matches!(found, Found::Folder(_)) && !self.bases.contains(&resolved) {
                self.bases.push(resolved.clone());
            }
            self.tie(found, resolved, &stat);
        } else if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile {
            // The model does not write there without asking. Others may, and what the system says of the file changes then.
            push(&mut self.ties.files, CodeFile { path: resolved, hash: content::by_state(&stat), writable: false });
        }
    }

    fn tie(&mut self, found: &Found, path: PathBuf, stat: &Stat) {
        match found {
            Found::Folder(folder) => match self.reader.folder(folder) {
                Some(hash) => push(&mut self.ties.folders, CodeFile { path, hash, writable: true }),
                None => self.untied(&path, "is a folder with too many files, or cannot be listed"),
            },
            Found::Entry { folder, name, .. } => {
                let content = self.reader.file(self.workspace, folder, name, stat);
                if !content.is_file {
                    return self.untied(&path, "is no file, and what comes out of it is not known");
                }
                push(&mut self.ties.files, CodeFile { path, hash: content.hash, writable: true });
            }
            Found::Missing { .. } => {}
        }
    }

    /// A folder where the program may look for others. In a writable root it is tied even before it exists.
    fn searched(&mut self, path: &Path) {
        let workspace = self.workspace;
        let by_name = workspace.rules().as_written(path, self.cwd);
        let found = walk(path);
        let resolved = match &found {
            Ok(Found::Folder(folder)) => folder.path().to_owned(),
            Ok(Found::Entry { folder, name, .. }) => folder.path().join(name),
            Ok(Found::Missing { folder, missing }) => folder.path().join(missing.iter().collect::<PathBuf>()),
            Err(_) => by_name.clone(),
        };
        if !self.is_writable(&by_name) && !self.is_writable(&resolved) {
            return;
        }
        let hash = match &found {
            Ok(Found::Folder(folder)) => self.reader.folder(folder),
            Ok(_) => Some(Reader::nothing()),
            Err(_) => None,
        };
        match hash {
            Some(hash) => push(&mut self.ties.folders, CodeFile { path: resolved, hash, writable: true }),
            None => self.untied(&resolved, "is searched for programs, and cannot be listed"),
        }
    }

    /// Whether the model may write there, after the question that a write asks.
    fn is_writable(&self, path: &Path) -> bool {
        matches!(self.workspace.rules().root_of(path), Root::Project | Root::WriteRoot(_) | Root::Tmp)
    }

    fn untied(&mut self, path: &Path, why: &str) {
        self.ties.untied.get_or_insert_with(|| format!("{} {why}", self.workspace.show(path)));
    }
}

fn push(code: &mut Vec<CodeFile>, file: CodeFile) {
    if !code.contains(&file) {
        code.push(file);
    }
}

/// A search path for programs without the entries that depend on the folder a program happens to be in: with `.` or an empty
/// entry, `ls` may be a file of the project. Nothing if no entry is left, as an empty value would mean just that folder.
pub(super) fn absolute_entries(path_var: &OsStr) -> Option<OsString> {
    let folders: Vec<PathBuf> = env::split_paths(path_var).filter(|folder| folder.is_absolute()).collect();
    // Joining cannot fail: what was split at colons holds none.
    (!folders.is_empty()).then(|| env::join_paths(folders).ok()).flatten()
}
