//! The files whose content a command runs: what a grant for it is tied to (PRM-4).

use std::{
    io::Read,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use agent_policy::{CodeFile, Root};

use crate::code::{
    place::{Found, OpenFile, walk},
    workspace::Workspace,
};

/// More arguments than this are not looked at.
const MAX_ARGUMENTS: usize = 256;
/// Bigger files are told apart by what the system says of them. Bytes.
const MAX_HASHED: u64 = 16 * 1024 * 1024;

/// The program, and every file in a writable folder that an argument names.
pub(super) fn code_files(workspace: &Workspace, program: &Path, argv: &[String], cwd: &Path) -> Vec<CodeFile> {
    let mut files: Vec<CodeFile> = code_file(workspace, program).into_iter().collect();
    for word in argv.iter().skip(1).take(MAX_ARGUMENTS) {
        let found = named(word).filter_map(|path| code_file(workspace, &cwd.join(path)));
        for file in found.filter(|file| file.writable) {
            if !files.contains(&file) {
                files.push(file);
            }
        }
    }
    files
}

/// What an argument may name: itself, or the value of an option.
fn named(word: &str) -> impl Iterator<Item = &str> {
    let value = word.strip_prefix('-').and_then(|option| option.split_once('=')).map(|(_, value)| value);
    std::iter::once(word).chain(value).filter(|path| !path.is_empty())
}

/// A regular file with its hash; nothing for anything else.
fn code_file(workspace: &Workspace, path: &Path) -> Option<CodeFile> {
    let Ok(Found::Entry { folder, name, .. }) = walk(path) else { return None };
    let file = workspace.open(&folder, &name).ok()?.ok()?;
    let path: PathBuf = file.path().to_owned();
    let writable = matches!(workspace.rules().root_of(&path), Root::Project | Root::WriteRoot(_) | Root::Tmp);
    Some(CodeFile { path, hash: hash(&file)?, writable })
}

fn hash(file: &OpenFile) -> Option<String> {
    let mut hasher = blake3::Hasher::new();
    if file.size() > MAX_HASHED {
        let found = file.file.metadata().ok()?;
        let state = [found.dev(), found.ino(), found.size()];
        let times = [found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec()];
        hasher.update(format!("{state:?} {times:?}").as_bytes());
    } else {
        hasher.update_reader((&file.file).take(MAX_HASHED)).ok()?;
    }
    Some(hasher.finalize().to_string())
}
