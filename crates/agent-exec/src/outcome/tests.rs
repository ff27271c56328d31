use super::Exit;
use std::{os::unix::process::ExitStatusExt, process::ExitStatus};

#[track_caller]
fn check(wait_status: i32, shell_code: Option<i32>, shown: &str) {
    let exit = Exit::from_status(ExitStatus::from_raw(wait_status)).expect("an ended process");
    assert_eq!((exit.shell_code(), exit.to_string().as_str()), (shell_code, shown));
    assert_eq!(exit.success(), wait_status == 0);
}

/// EXEC-07: a death by signal has its name and a code that is neither 0 nor missing.
#[test]
fn every_end_has_a_code_and_a_text() {
    check(0, Some(0), "exit code 0");
    check(2 << 8, Some(2), "exit code 2");
    check(9, Some(137), "killed by SIGKILL (signal 9)");
    check(11, Some(139), "killed by SIGSEGV (signal 11)");
    check(11 | 0x80, Some(139), "killed by SIGSEGV (signal 11)"); // with a core dump
    check(40, Some(168), "killed by signal 40"); // a real-time signal
}

#[test]
fn what_we_stopped_has_no_code() {
    assert_eq!(Exit::TimedOut.shell_code(), None);
    assert_eq!(Exit::Cancelled.shell_code(), None);
    assert!(!Exit::TimedOut.success() && !Exit::Cancelled.success());
}
