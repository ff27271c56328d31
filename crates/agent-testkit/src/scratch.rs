//! The one folder tests may write in, and the upkeep of earlier runs.
//!
//! A run is one test process. Its folder holds a lock file that stays locked while the process lives, so that a parallel
//! process never prunes a run in use, whatever became of process ids in between.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::current_test;

#[cfg(test)]
mod tests;

/// How many runs that left something stay on disk, the running one included.
const KEPT_RUNS: usize = 5;
/// Locked by its process for as long as it lives; also the mark of a folder that may be pruned at all.
const ALIVE: &str = ".alive";
/// Serialises the making and the pruning of runs between processes.
const REGISTRY: &str = ".lock";
/// Runs renamed to this prefix are on their way out.
const TRASH: &str = ".trash-";

/// Makes a fresh, empty folder (mode 0700) for a test and returns its real path.
///
/// It lies in `$SOONG_AGENT_TEST_ROOT` if that is set, else in `$HOME/.soong-agent/test-runs/<run id>/`, of which the last
/// five that left something are kept. With `SOONG_AGENT_TEST_KEEP=failed` it goes when its test has passed; of a test that failed it
/// is named. `name` is a hint: unsafe characters become `-`, and a number is added if the name is taken.
///
/// # Panics
/// If the folder cannot be made: no test can go on without it.
pub fn scratch(name: &str) -> PathBuf {
    static RUN: OnceLock<RunFolder> = OnceLock::new();
    let run = RUN.get_or_init(|| {
        let place = Place::choose(std::env::var_os("SOONG_AGENT_TEST_ROOT"), std::env::var_os("HOME"))
            .unwrap_or_else(|| panic!("set HOME or SOONG_AGENT_TEST_ROOT: tests need a folder of their own"));
        RunFolder::open(&place).unwrap_or_else(|e| panic!("open the test folder in {place:?}: {e}"))
    });
    let folder = run.fresh(name);
    let folder = folder.unwrap_or_else(|e| panic!("make a test folder for {name:?} in {}: {e}", run.path.display()));
    current_test::owns(&folder);
    folder
}

/// Where this process's test folders go.
#[derive(Debug, PartialEq)]
enum Place {
    /// Named by the caller of the suite: used as it is, never pruned.
    Given(PathBuf),
    /// The parent of run folders, looked after by us.
    Runs(PathBuf),
}

impl Place {
    /// Empty variables count as unset, as they do for a shell's `${X:-}`.
    fn choose(root: Option<OsString>, home: Option<OsString>) -> Option<Self> {
        let filled = |value: Option<OsString>| value.filter(|v| !v.is_empty()).map(PathBuf::from);
        match (filled(root), filled(home)) {
            (Some(root), _) => Some(Self::Given(root)),
            (None, Some(home)) => Some(Self::Runs(home.join(".soong-agent/test-runs"))),
            (None, None) => None,
        }
    }
}

/// The folder of one test process.
struct RunFolder {
    path: PathBuf,
    /// Keeps the run from being pruned. Closed, and so unlocked, with the process.
    _alive: Option<File>,
    /// The names that were given out. None is given twice, though its folder be gone: a folder goes with the test it was made
    /// for, and another test's folder of the same name would go with it.
    given: Mutex<HashSet<String>>,
}

impl RunFolder {
    fn open(place: &Place) -> io::Result<Self> {
        match place {
            Place::Given(root) => {
                private_folders(root)?;
                Ok(Self { path: root.canonicalize()?, _alive: None, given: Mutex::default() })
            }
            Place::Runs(parent) => Self::register(parent),
        }
    }

    /// Makes and locks a run folder, then prunes. Both happen under the registry lock, so no run is ever seen unlocked.
    fn register(parent: &Path) -> io::Result<Self> {
        private_folders(parent)?;
        let parent = parent.canonicalize()?;
        let registry = File::create(parent.join(REGISTRY))?;
        registry.lock()?;
        let path = numbered(&parent, &run_id(), |_| true)?;
        let alive = File::create(path.join(ALIVE))?;
        alive.lock()?;
        let outcast = set_aside_old_runs(&parent);
        drop(registry);
        // Slow and best effort: outside the lock, and a leftover is tried again by the next process.
        for folder in outcast {
            let _ = fs::remove_dir_all(folder);
        }
        Ok(Self { path, _alive: Some(alive), given: Mutex::default() })
    }

    fn fresh(&self, name: &str) -> io::Result<PathBuf> {
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        numbered(&self.path, &safe_name(name), |name| given.insert(name.to_owned()))
    }
}

/// Renames dead runs to trash, those that are empty and those beyond the newest [`KEPT_RUNS`], and returns all trash, that of
/// killed processes included.
fn set_aside_old_runs(parent: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(parent) else {
        return Vec::new();
    };
    let names: Vec<OsString> = entries.flatten().map(|entry| entry.file_name()).collect();
    let is_trash = |name: &OsString| name.to_string_lossy().starts_with(TRASH);
    let mut outcast: Vec<PathBuf> = names.iter().filter(|n| is_trash(n)).map(|n| parent.join(n)).collect();

    let mut runs: Vec<&OsString> =
        names.iter().filter(|n| !is_trash(n) && parent.join(n).join(ALIVE).is_file()).collect();
    runs.sort(); // a run id begins with its time
    let (empty, full): (Vec<_>, Vec<_>) = runs.into_iter().partition(|name| is_empty_and_dead(&parent.join(name)));
    let surplus = full.len().saturating_sub(KEPT_RUNS);
    for name in empty.into_iter().chain(full.into_iter().take(surplus)) {
        let mut trash = OsString::from(TRASH);
        trash.push(name);
        let trash = parent.join(trash);
        if is_dead(&parent.join(name)) && fs::rename(parent.join(name), &trash).is_ok() {
            outcast.push(trash);
        }
    }
    outcast
}

/// Whether nothing was left, as by tests that all passed.
fn is_empty_and_dead(run: &Path) -> bool {
    let nothing = fs::read_dir(run).is_ok_and(|all| all.flatten().all(|entry| entry.file_name() == ALIVE));
    nothing && is_dead(run)
}

/// A run is dead when nobody holds its lock. What cannot be told counts as alive.
fn is_dead(run: &Path) -> bool {
    File::open(run.join(ALIVE)).is_ok_and(|file| file.try_lock().is_ok())
}

/// Sorts by time; the process id tells people which process it was.
fn run_id() -> String {
    let now = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%S.%3fZ");
    format!("{now}-{}", std::process::id())
}

/// Makes `parent/name`, or `parent/name-2`, `-3` … if taken or not `wanted`. The file system decides, so parallel processes never
/// share one.
fn numbered(parent: &Path, name: &str, mut wanted: impl FnMut(&str) -> bool) -> io::Result<PathBuf> {
    const TRIES: u32 = 10_000;
    for n in 1..=TRIES {
        let name = if n == 1 { name.to_owned() } else { format!("{name}-{n}") };
        if !wanted(&name) {
            continue;
        }
        let path = parent.join(name);
        match fs::create_dir(&path) {
            Ok(()) => {
                fs::set_permissions(&path, Permissions::from_mode(0o700))?;
                return Ok(path);
            }
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
        }
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("{TRIES} folders are named {name}")))
}

/// Makes what is missing of a path, readable by its owner only.
pub(crate) fn private_folders(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// A name that stays one path component and leaves room for a number.
fn safe_name(hint: &str) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let name: String = hint.chars().take(64).map(|c| if safe(c) { c } else { '-' }).collect();
    if name.trim_matches('.').is_empty() { "test".to_owned() } else { name }
}
