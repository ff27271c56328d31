//! Measures one process from its start to its exit.
//!
//! The kernel hands out what *all* children of a process have used, and counts a parent's memory as the child's until the
//! child becomes its program. So every measured program has a parent of its own that has done nothing before: this
//! program again, as a launcher.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use agent_testkit::TestHome;
use nix::sys::resource::{UsageWho, getrusage};
use serde::{Deserialize, Serialize};

use crate::{BenchError, clock, own};

/// First argument that makes this program a launcher. It gets the file for the program's stderr, the program and its
/// arguments.
pub(crate) const WORD: &str = "launch";

/// What a process used, from just before its start to its exit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Spent {
    /// When it was started, by [`clock::now`].
    pub(crate) started: Duration,
    pub(crate) wall: Duration,
    /// User and system time of all its threads.
    pub(crate) cpu: Duration,
    /// Peak resident memory; `None` if it is not above the launcher's own, which hides it.
    pub(crate) peak_kib: Option<i64>,
    code: Option<i32>,
}

/// Runs a program to its end in a home and tells what it used.
pub(crate) fn measure(home: &TestHome, program: &Path, arguments: &[OsString]) -> Result<Spent, BenchError> {
    let this = std::env::current_exe().map_err(BenchError::file("find", "this program"))?;
    let stderr = home.root.join("stderr");
    let output = home
        .command(&this)
        .arg(WORD)
        .arg(&stderr)
        .arg(program)
        .args(arguments)
        .output()
        .map_err(BenchError::file("start", &this))?;
    let name = || program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(BenchError::Failed { program: name(), code: output.status.code(), stderr });
    }
    let spent: Spent = serde_json::from_slice(&output.stdout).map_err(|source| BenchError::Launcher { source })?;
    if spent.code != Some(0) {
        let stderr = fs::read_to_string(&stderr).unwrap_or_default();
        return Err(BenchError::Failed { program: name(), code: spent.code, stderr });
    }
    Ok(spent)
}

/// The launcher: runs the program and prints what it used.
pub(crate) fn main(mut arguments: impl Iterator<Item = OsString>) -> Result<(), BenchError> {
    let stderr = arguments.next().unwrap_or_default();
    let stderr = File::create(&stderr).map_err(BenchError::file("make", stderr))?;
    let program = arguments.next().unwrap_or_default();
    let mut command = Command::new(&program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr);
    // 0 where the system does not say.
    let own_kib = own::field("VmHWM").and_then(|kib| i64::try_from(kib).ok()).unwrap_or(0);

    let started = clock::now()?;
    let status = command.status().map_err(BenchError::file("start", program))?;
    let wall = clock::now()? - started;

    let used = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(|source| BenchError::Usage { source })?;
    let micros = [used.user_time(), used.system_time()].map(|time| time.tv_sec() * 1_000_000 + time.tv_usec());
    let cpu = Duration::from_micros(u64::try_from(micros.iter().sum::<i64>()).unwrap_or(0));
    // macOS counts bytes.
    let peak_kib = if cfg!(target_os = "macos") { used.max_rss() / 1024 } else { used.max_rss() };
    let peak_kib = Some(peak_kib).filter(|peak| *peak > own_kib);
    let spent = Spent { started, wall, cpu, peak_kib, code: status.code() };
    serde_json::to_writer(io::stdout(), &spent).map_err(|source| BenchError::Launcher { source })
}
