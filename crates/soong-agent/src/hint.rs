//! What to do about an error of the library, in the words of this command: its commands and options.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::Path;

use agent_core::error::{BuildError, ConfigError, ProfileError, RuntimeError, StoreError};
use agent_core::permission::path_from_text;
use agent_core::text::shown_path;

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

/// The project of a session that is to be gone on with is not there.
pub(crate) fn moved_project(session: Option<&str>) -> String {
    let id = session.unwrap_or("SESSION");
    let listed = if session.is_none() { "; `soong-agent sessions` lists the sessions" } else { "" };
    format!("; if it was moved, this takes the session along: soong-agent sessions move {id} NEW-PATH{listed}")
}

/// What can be done about damage.
fn of_store(error: &StoreError) -> String {
    match error {
        StoreError::CorruptRow { .. }
        | StoreError::CorruptFile { .. }
        | StoreError::DamagedLog { .. }
        | StoreError::Unmarked { .. } => "; to repair it: `soong-agent sessions repair`".to_owned(),
        StoreError::BeyondRepair { path, .. } => beyond_repair(path),
        _ => String::new(),
    }
}

/// The same command would fail again: the shell lines of what is left to try.
fn beyond_repair(path: &Path) -> String {
    let beside = |end: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        shell::argument(&name)
    };
    let (file, old, log, old_log) = (beside(""), beside(".old"), beside("-wal"), beside(".old-wal"));
    let mut message = "\nTo begin anew, move it away, with its log if it has one:".to_owned();
    // Writing to a string cannot fail.
    let _ = write!(
        message,
        "\n  mv -n {file} {old}\n  [ ! -e {log} ] || mv -n {log} {old_log}\n\
         The tool sqlite3, where it is built with `.recover`, may find more in it:\n  \
         sqlite3 {old} .recover | sqlite3 {file}\n  soong-agent sessions repair"
    );
    message
}

/// There is no file, and none was made: the shell lines that make one.
fn no_configuration(path: &Path) -> String {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let (file, folder) = (shell::argument(path.as_os_str()), shell::argument(folder.as_os_str()));
    let mut message = format!("there is no configuration at {}; nothing was created. ", shown_path(path));
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

    /// What cannot be repaired is moved away with its log by the lines as they are typed, and nothing else is touched.
    #[test]
    fn what_is_beyond_repair_can_be_moved_away() {
        for with_log in [false, true] {
            let folder = agent_testkit::scratch(&format!("hint-beyond-{with_log}")).join("my \"home\" $x; y");
            fs::create_dir_all(&folder).expect("made");
            let path = folder.join("sessions.sqlite");
            fs::write(&path, "damaged").expect("written");
            if with_log {
                fs::write(folder.join("sessions.sqlite-wal"), "log").expect("written");
            }
            let message = beyond_repair(&path);
            assert!(message.contains(".recover | sqlite3"), "{message}");
            let moves: Vec<_> = message
                .lines()
                .map(str::trim)
                .filter(|line| line.starts_with("mv ") || line.starts_with("[ "))
                .collect();
            assert_eq!(moves.len(), 2, "{message}");
            assert!(Command::new("sh").arg("-ec").arg(moves.join("\n")).status().expect("sh").success());
            let mut left: Vec<_> =
                fs::read_dir(&folder).expect("read").map(|entry| entry.expect("entry").file_name()).collect();
            left.sort();
            let expected: &[&str] =
                if with_log { &["sessions.sqlite.old", "sessions.sqlite.old-wal"] } else { &["sessions.sqlite.old"] };
            assert_eq!(left, expected);
        }
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
