//! The test on whose thread we are: how long it may take, and what becomes of its folders when it is over.
//!
//! libtest gives each test a thread of its own, named after it, and waits for the thread's end. So a value of that thread is
//! dropped when the test is over, however it went. Other threads (a program's main thread, a runtime's workers) have no limit, and
//! what they made stays until it is pruned.

use std::cell::RefCell;
use std::fs::{self, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::{env, panic, thread};

use crate::limit;
use crate::say::say;

/// Which folders stay when their test is over: `failed` for those of failed tests, else all.
const KEEP: &str = "SOONG_AGENT_TEST_KEEP";
/// A file that lists what could not be tried.
const NOT_TRIED: &str = "SOONG_AGENT_TEST_NOT_TRIED";

thread_local! {
    static TEST: RefCell<Option<CurrentTest>> = const { RefCell::new(None) };
}

struct CurrentTest {
    name: String,
    folders: Vec<PathBuf>,
    failed: bool,
}

/// The folder is the current test's.
pub(crate) fn owns(folder: &Path) {
    let Some(name) = name() else { return };
    note_panics();
    TEST.with_borrow_mut(|test| {
        let test = test.get_or_insert_with(|| CurrentTest { name, folders: Vec::new(), failed: false });
        test.folders.push(folder.to_owned());
    });
    going_on();
}

/// Tells that the current test makes progress, so that its time begins anew: for loops that people may make longer.
pub fn going_on() {
    if let Some(name) = name() {
        limit::heard_of(&name);
    }
}

/// Says that the current test could not try something on this machine, and what. Nobody overlooks it: it is printed although the
/// test passes, and `./test` counts it.
///
/// # Panics
/// If it cannot be told.
pub fn not_tried(what: &str) {
    let line = format!("not tried by {}: {what}\n", name().unwrap_or_default());
    say(&line);
    let Some(list) = env::var_os(NOT_TRIED).filter(|list| !list.is_empty()) else { return };
    let written =
        OpenOptions::new().append(true).create(true).open(&list).and_then(|mut f| f.write_all(line.as_bytes()));
    written.unwrap_or_else(|e| panic!("write to {}, which {NOT_TRIED} names: {e}", list.display()));
}

/// The name of the test whose thread this is.
fn name() -> Option<String> {
    let thread = thread::current();
    thread.name().filter(|name| *name != "main" && !name.starts_with("tokio-")).map(str::to_owned)
}

/// A test fails by a panic on its thread.
fn note_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let next = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            // One that panics while it ends, or within this module, is no test any more.
            let _ = TEST.try_with(|test| {
                if let Some(test) = test.try_borrow_mut().ok().as_mut().and_then(|test| test.as_mut()) {
                    test.failed = true;
                }
            });
            next(panic);
        }));
    });
}

impl Drop for CurrentTest {
    fn drop(&mut self) {
        limit::forget();
        if !self.failed {
            if env::var_os(KEEP).is_some_and(|keep| keep == "failed") {
                self.folders.iter().for_each(|folder| remove(folder));
            }
            return;
        }
        let there: Vec<_> = self.folders.iter().filter(|folder| folder.exists()).collect();
        for folder in there {
            say(&format!("{} failed; what it made is in {}\n", self.name, folder.display()));
        }
    }
}

/// Best effort: what stays is pruned later. A folder may have been closed to its owner by the test.
fn remove(folder: &Path) {
    if fs::remove_dir_all(folder).is_err() {
        open_up(folder);
        let _ = fs::remove_dir_all(folder);
    }
}

fn open_up(folder: &Path) {
    let _ = fs::set_permissions(folder, Permissions::from_mode(0o700));
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_up(&entry.path());
        }
    }
}
