//! A terminal that the agent has is none of the program's.

use crate::support::{command, finish, sh, text};
use agent_exec::Exit;
use process_wrap::std::{CommandWrap, ProcessSession};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::{
    env,
    fs::File,
    os::unix::ffi::OsStrExt,
    process::{Command, Stdio},
};

/// Set in the copy of this test that runs on a terminal.
const ON_TERMINAL: &str = "AGENT_EXEC_TEST_ON_TERMINAL";

/// EXEC-11: a program that opens the terminal behind its closed input fails at once instead of waiting for an answer.
/// EXEC-04: that input is not the terminal either.
///
/// Needs a controlling terminal to be worth anything, so the test runs itself once more under one.
#[test]
fn the_terminal_is_out_of_reach() {
    if env::var_os(ON_TERMINAL).is_some() {
        return on_terminal();
    }
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let slave = ptsname(&master, Vec::new()).unwrap();
    // The first terminal that the leader of a session opens becomes its controlling one.
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", r#"terminal=$1; shift; exec "$@" <"$terminal""#, "sh"])
        .arg(std::ffi::OsStr::from_bytes(slave.as_bytes()))
        .arg(env::current_exe().unwrap())
        .args(["--exact", "tty::the_terminal_is_out_of_reach"])
        .env(ON_TERMINAL, "1")
        .stdout(Stdio::piped());
    let copy = CommandWrap::from(command).wrap(ProcessSession).spawn().unwrap();
    let output = copy.into_inner().wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "the copy of this test has run");
}

fn on_terminal() {
    File::open("/dev/tty").expect("this process has a controlling terminal");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let cat = runtime.block_on(finish(command("/bin/cat", &["cat"])));
    assert_eq!((cat.exit, cat.stdout.total_bytes), (Exit::Code(0), 0));
    let finished = runtime.block_on(finish(sh("read x </dev/tty || exit 9; echo read:$x")));
    assert!(matches!(finished.exit, Exit::Code(code) if code != 0), "{finished:?}");
    assert_eq!(finished.stdout.total_bytes, 0);
    assert!(text(&finished.stderr.kept).contains("/dev/tty"), "{finished:?}");
}
