//! A user's home and a project, made for one test.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use toml::{Table, Value};

use crate::scratch::{private_folders, scratch};

/// What starts the tests may have signals ignored (`nohup`, a background job), and every process started from there would
/// inherit that; GNU's `env` sets them back.
fn with_default_signals(program: &OsStr) -> Command {
    if cfg!(target_os = "linux") {
        let mut command = Command::new("env");
        command.arg("--default-signal=HUP,INT,QUIT,TERM").arg(program);
        return command;
    }
    Command::new(program)
}

#[cfg(test)]
mod tests;

/// The model name [`TestHome::write_config`] writes and the scripted server offers unless told otherwise.
pub const MODEL: &str = "scripted";

/// A hermetic place for one test: `root/home` (what `SOONG_AGENT_HOME` names) and `root/project`, all mode 0700.
///
/// It stays on disk for people to look at; tests that make many call [`TestHome::remove`] on success.
#[derive(Debug)]
pub struct TestHome {
    /// A fresh [`scratch`] folder; also the `HOME` of commands.
    pub root: PathBuf,
    /// The user-level folder of the agent, without a config.toml until one is written.
    pub home: PathBuf,
    /// An empty project.
    pub project: PathBuf,
}

impl TestHome {
    /// Makes the folders.
    ///
    /// # Panics
    /// If they cannot be made, as do all methods here when the file system refuses.
    pub fn new(name: &str) -> Self {
        let root = scratch(name);
        let made = |name: &str| {
            let path = root.join(name);
            private_folders(&path).unwrap_or_else(|e| panic!("make {}: {e}", path.display()));
            path
        };
        let (home, project) = (made("home"), made("project"));
        Self { root, home, project }
    }

    /// Where the user-level config lies.
    pub fn config_path(&self) -> PathBuf {
        self.home.join("config.toml")
    }

    /// Writes home's config.toml: the given provider with [`MODEL`] at `base_url`, no key, and whatever `extra_toml` says.
    ///
    /// `extra_toml` is laid over it key by key (arrays replace), so it may also change what this function sets, e.g.
    /// `model.name = "other"`. A config that must be broken is written with [`TestHome::write`] instead.
    ///
    /// # Panics
    /// If `extra_toml` is not TOML.
    pub fn write_config(&self, base_url: &str, provider: &str, extra_toml: &str) {
        let mut config = base_config(base_url, provider);
        let extra: Table = toml::from_str(extra_toml).unwrap_or_else(|e| panic!("extra_toml is not TOML: {e}"));
        overlay(&mut config, extra);
        let text = toml::to_string(&config).unwrap_or_else(|e| panic!("write the test config as TOML: {e}"));
        self.write(self.config_path(), text);
    }

    /// Writes a file (mode 0600) and the folders above it; a relative path is taken from [`TestHome::root`].
    pub fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let path = self.root.join(path);
        write_private(&path, content.as_ref()).unwrap_or_else(|e| panic!("write {}: {e}", path.display()));
    }

    /// A command in the project with nothing of the caller's environment but `PATH`, and no standard input.
    ///
    /// `HOME` is [`TestHome::root`], so `~` never reaches the real home.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = with_default_signals(program.as_ref());
        command
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .env("HOME", &self.root)
            .env("SOONG_AGENT_HOME", &self.home)
            .env("LC_ALL", "C.UTF-8")
            .current_dir(&self.project)
            .stdin(Stdio::null());
        command
    }

    /// Deletes the folders: for bulk tests, after success.
    pub fn remove(self) {
        fs::remove_dir_all(&self.root).unwrap_or_else(|e| panic!("remove {}: {e}", self.root.display()));
    }
}

fn base_config(base_url: &str, provider: &str) -> Table {
    let mut model = Table::new();
    for (key, value) in [("provider", provider), ("base_url", base_url), ("api_key_env", ""), ("name", MODEL)] {
        model.insert(key.to_owned(), Value::String(value.to_owned()));
    }
    let mut config = Table::new();
    config.insert("model".to_owned(), Value::Table(model));
    config
}

/// Lays `over` on `base`: tables merge, everything else replaces.
fn overlay(base: &mut Table, over: Table) {
    for (key, value) in over {
        match (base.get_mut(&key), value) {
            (Some(Value::Table(below)), Value::Table(above)) => overlay(below, above),
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}

fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        private_folders(parent)?;
    }
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(content)
}
