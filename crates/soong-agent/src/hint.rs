//! What to do about an error of the library, in the words of this command: its commands and options.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::Path;

use agent_core::error::{BuildError, ConfigError, ProfileError, RuntimeError, StoreError};
use agent_core::permission::path_from_text;

use crate::shell;

/// The message of an error while something is opened.
pub(crate) fn of_build(error: &BuildError) -> String {
    let message = error.payload().message;
    match error {
        BuildError::Config(ConfigError::Missing { path }) => no_configuration(path),
        BuildError::Config(ConfigError::Invalid(_)) | BuildError::Profile(ProfileError::Invalid(_)) => format!(
            "{message}\nCorrect it and run `soong-agent config check`; `soong-agent config template` prints a complete example."
        ),
        BuildError::NoCurrentDir | BuildError::Project { .. } => format!("{message} with --path"),
        BuildError::Store(error) => format!("{message}{}", of_store(error)),
        _ => message,
    }
}

/// The message of an error of what is open.
pub(crate) fn of_runtime(error: &RuntimeError) -> String {
    let message = error.payload().message;
    match error {
        RuntimeError::Store(StoreError::SessionNotFound { .. }) => {
            format!("{message}; `soong-agent sessions` lists those there are")
        }
        RuntimeError::Store(StoreError::SessionActive { .. }) => {
            format!("{message}: wait until that has ended, or end it")
        }
        RuntimeError::OtherProject { session_id, cwd, project } => {
            let project = path_from_text(project);
            let words = ["soong-agent", "sessions", "move", session_id.as_str()].map(OsStr::new);
            let words = words.into_iter().chain([project.as_os_str()]);
            format!(
                "{message}; for its project: --path {}; to take it along to this one: {}",
                shell::argument(path_from_text(cwd).as_os_str()),
                shell::typed(words)
            )
        }
        RuntimeError::Store(error) => format!("{message}{}", of_store(error)),
        _ => message,
    }
}

/// What can be done about damage.
fn of_store(error: &StoreError) -> &'static str {
    match error {
        StoreError::CorruptRow { .. }
        | StoreError::CorruptFile { .. }
        | StoreError::DamagedLog { .. }
        | StoreError::Unmarked { .. } => "; to repair it: `soong-agent sessions repair`",
        _ => "",
    }
}

/// There is no file, and none was made: the shell lines that make one.
fn no_configuration(path: &Path) -> String {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let (file, folder) = (shell::argument(path.as_os_str()), shell::argument(folder.as_os_str()));
    let mut message = format!("there is no configuration at {}; nothing was created. ", path.display());
    // Writing to a string cannot fail.
    let _ = write!(
        message,
        "To begin with the packaged one:\n  mkdir -p {folder}\n  soong-agent config template > {file}\n  chmod go-w {file}"
    );
    message
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::*;

    /// CLI-07: no config.toml. The message says what to type.
    #[test]
    fn a_missing_file_says_how_to_make_one() {
        let message = of_build(&ConfigError::Missing { path: "/home/u/.soong-agent/config.toml".into() }.into());
        let lines: Vec<_> = message.lines().map(str::trim).collect();
        assert!(lines[0].contains("/home/u/.soong-agent/config.toml"), "{lines:?}");
        assert_eq!(lines[1], "mkdir -p /home/u/.soong-agent");
        assert_eq!(lines[2], "soong-agent config template > /home/u/.soong-agent/config.toml");
        assert_eq!(lines[3], "chmod go-w /home/u/.soong-agent/config.toml");
    }

    /// CLI-07: the lines work when typed, whatever the folder is called.
    #[test]
    fn the_two_shell_lines_make_the_file() {
        let path = agent_testkit::scratch("hint-shell").join("it's \"my\" $HOME; rm -r x").join("-config.toml");
        let message = no_configuration(&path);
        let lines: Vec<_> = message.lines().skip(1).collect();
        let script = format!(
            "set -e; umask 077\nsoong_agent() {{ echo \"[model]\"; }}\n{}",
            lines.join("\n").replace("soong-agent config", "soong_agent config")
        );
        assert!(Command::new("sh").arg("-c").arg(script).status().expect("sh").success());
        assert_eq!(fs::read_to_string(&path).expect("made"), "[model]\n");
        let location = agent_core::config::Location::default().config_path(&path);
        agent_core::config::inspect(&location.home_dir(path.parent().expect("parent"))).expect("loads");
    }
}
