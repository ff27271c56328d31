use super::ExitNotice;
use rustix::process::Pid;
use std::{
    process::{Child, Command, Stdio},
    time::Duration,
};
use tokio::time::timeout;

/// A child that ends when its input is closed.
fn child() -> Child {
    Command::new("/bin/cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap()
}

async fn check(notice: fn(Pid) -> ExitNotice) {
    let mut child = child();
    let notice = notice(Pid::from_child(&child));
    timeout(Duration::from_millis(60), notice.ended()).await.expect_err("it still runs");
    drop(child.stdin.take());
    for _ in 0..2 {
        timeout(Duration::from_secs(20), notice.ended()).await.expect("it has ended, for every caller");
    }
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    assert!(stat.contains(") Z "), "the notice must leave the child to be collected: {stat}");
    assert!(child.wait().unwrap().success());
}

#[tokio::test]
async fn an_end_is_seen_and_the_child_is_not_collected() {
    check(ExitNotice::new).await;
}

#[tokio::test]
async fn the_same_holds_where_the_system_has_no_pidfd() {
    check(ExitNotice::polling).await;
}

/// A host that collects all children must not make a call wait for ever.
#[tokio::test]
async fn a_child_that_someone_else_collected_has_ended() {
    for notice in [ExitNotice::new, ExitNotice::polling] {
        let mut child = child();
        let notice = notice(Pid::from_child(&child));
        child.wait().unwrap();
        timeout(Duration::from_secs(20), notice.ended()).await.expect("ended");
    }
}
