//! What is known about a call before it runs: plain data, gathered by a tool's first phase, judged here (TOL-9).

use std::{collections::BTreeSet, path::PathBuf};

use agent_protocol::SessionId;

/// Everything a permission decision may depend on. Gathering it has had no side effect.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts {
    /// The files and folders the call will touch.
    pub targets: Vec<Target>,
    /// The command it will run.
    pub command: Option<Command>,
    /// The host it will talk to.
    pub network_host: Option<String>,
    /// What a person should see: a diff for edits, the argv for commands, the arguments for the rest. Whole and unescaped;
    /// whoever shows it bounds and escapes it (PRM-6).
    pub preview: String,
    /// The call in one line, where neither the command nor the targets say it: what a search looks for.
    pub line: Option<String>,
    /// What the tool itself knows to be risky about this very call, in words for a person.
    pub dangers: Vec<String>,
    /// The session of the call. What its own calls put out and stored may be read back (PRM-10).
    pub session: Option<SessionId>,
}

/// A file or folder the call will touch, as it was when the call was prepared.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// As the model wrote it: the path itself, or the form in which results show it (`agent_protocol::shown_path`). Of an argument
    /// of a command, its part of the word.
    pub requested: String,
    /// Absolute, normalised, with every symlink resolved: the very file that is held open. Where the file does not exist
    /// yet: its deepest existing folder, resolved, plus the missing rest.
    pub resolved: PathBuf,
    /// What the call does with it.
    pub access: Access,
    /// What it is.
    pub kind: TargetKind,
    /// Hard links to it; 1 for a file with one name, 0 for one that does not exist.
    pub links: u64,
    /// Other names of the same file that are known to be sensitive or under control, found by device and inode.
    pub aliases: Vec<PathBuf>,
}

/// What a call does with a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    /// Reads its content.
    Read,
    /// Lists a folder.
    List,
    /// Searches it, or everything below it.
    Search,
    /// Makes or changes it.
    Write,
}

/// What a target is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TargetKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// Nothing yet.
    Missing,
    /// A pipe, a socket or a device.
    Special,
}

/// A command about to run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Command {
    /// The words, as the model gave them; not valid UTF-8 is impossible, since they come from JSON.
    pub argv: Vec<String>,
    /// The file behind `argv[0]`, resolved.
    pub program: PathBuf,
    /// The folder it runs in, resolved.
    pub cwd: PathBuf,
    /// Names of the variables it gets.
    pub env_names: Vec<String>,
    /// The program, and whatever an argument leads to by a name in a writable root or into one, with its content: what a
    /// grant for the session is tied to (PRM-4).
    pub code: Vec<CodeFile>,
    /// Everything that exists and that an argument, or a part of one, may be meant to name.
    pub named: Vec<Target>,
    /// Those of `code` and `named` that no word names as they are: found by an ending, as a module, below a folder, behind letters of
    /// options. A grant is tied to them all the same.
    pub guessed: BTreeSet<PathBuf>,
    /// Why a grant cannot be tied to all that the command may run, in words for a person; absent where `code` and `named`
    /// are complete.
    pub untied: Option<String>,
}

/// What a command runs, or reads as its argument.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CodeFile {
    /// Resolved path of a file, or of a folder.
    pub path: PathBuf,
    /// A BLAKE3 hash, hex: of a file's content, or of what the system says of a file that is not read and of the files
    /// directly in a folder.
    pub hash: String,
    /// Whether it lies in a writable root, or is called by a name there, so that the model may have chosen it.
    pub writable: bool,
}
