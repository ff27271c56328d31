//! Why no program was found, and which one may have been meant.

use std::{collections::BTreeSet, env, ffi::OsStr, fs};

use agent_exec::ProgramError;
use agent_protocol::{ErrorCode, ErrorPayload};
use agent_tool::near_files;

use super::no_shell;

/// How many names of programs are looked through.
const MAX_NAMES: usize = 16 * 1024;

/// The refusal, with what the next call needs.
pub(super) fn missing(error: &ProgramError, argv: &[String], path_var: &OsStr) -> ErrorPayload {
    let code = match error {
        ProgramError::NotInPath { .. } | ProgramError::Missing { .. } => ErrorCode::FileNotFound,
        ProgramError::NotExecutable { .. } => ErrorCode::PermissionDenied,
        // Empty, a whole command line, not a file, and whatever is added to them.
        _ => ErrorCode::ValidationError,
    };
    let next = no_shell::hint(argv, true).or_else(|| match error {
        ProgramError::NotInPath { argv0, .. } => near(&argv0.to_string_lossy(), path_var),
        ProgramError::CommandLine { argv0 } => {
            let words: Vec<_> = argv0.to_string_lossy().split_whitespace().map(str::to_owned).collect();
            let is_plain =
                !words.iter().any(|word| word.contains(['\'', '"', '\\', '$', '*', '|', '>', '<', ';', '&', '`']));
            is_plain.then(|| format!("as separate words: {}", no_shell::list(&[words.as_slice(), &argv[1..]].concat())))
        }
        ProgramError::NotExecutable { path } => {
            path.to_str().map(|path| format!("a script can be started by its interpreter: [\"sh\", \"{path}\", …]"))
        }
        _ => None,
    });
    let message = next.map_or_else(|| error.to_string(), |next| format!("{error}; {next}"));
    ErrorPayload::new(code, message).detail("kind", "program")
}

fn near(wanted: &str, path_var: &OsStr) -> Option<String> {
    let folders = env::split_paths(path_var).filter(|folder| folder.is_absolute());
    let entries = folders.filter_map(|folder| fs::read_dir(folder).ok()).flatten().filter_map(Result::ok);
    let names: BTreeSet<String> =
        entries.take(MAX_NAMES).filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let near = near_files(wanted, names.iter().map(String::as_str));
    (!near.is_empty()).then(|| format!("did you mean {}?", near.join(" or ")))
}
