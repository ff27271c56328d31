use super::Group;
use crate::{Exit, Leftovers, census::Census, marker::Marker, orphans::Entry};
use process_wrap::std::{CommandWrap, ProcessSession};
use std::{
    fs,
    io::{ErrorKind, Read},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

/// A shell script that says when it is ready.
fn start(script: &str) -> Group {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]).stdout(Stdio::piped());
    let marker = Marker::new();
    let spawn = || Ok(CommandWrap::from(command).wrap(ProcessSession).spawn()?.into_inner());
    let (mut child, entry) = Entry::of(&marker, spawn, |child| child.id()).unwrap();
    let mut ready = [0];
    child.stdout().take().unwrap().read_exact(&mut ready).unwrap();
    Group::new(child, entry, marker).unwrap()
}

fn blind(mut group: Group) -> Group {
    group.census = Census::blind(group.leader.as_raw_nonzero().get());
    group
}

/// Without a process table the group is killed all the same, and what is not known is not claimed.
#[tokio::test]
async fn a_group_is_cleared_without_seeing_it() {
    let mut group = blind(start("trap '' TERM; echo; while :; do sleep 0.1; done"));
    assert_eq!(group.clear(Duration::from_millis(100)).await, Leftovers::Unknown);
    assert_eq!(group.collect().await.unwrap(), Exit::Signal { number: 9, name: Some("SIGKILL") });

    let mut group = blind(start("echo; exit 3"));
    group.ended().await;
    let begun = Instant::now();
    assert_eq!(group.clear(Duration::from_secs(60)).await, Leftovers::Unknown);
    assert!(begun.elapsed() < Duration::from_secs(30), "there is nothing to wait for");
    assert_eq!(group.collect().await.unwrap(), Exit::Code(3));
}

#[tokio::test]
async fn a_running_program_is_not_collected() {
    let mut group = start("echo; sleep 300");
    assert_eq!(group.collect().await.unwrap_err().kind(), ErrorKind::TimedOut);
    assert_eq!(group.clear(Duration::from_secs(60)).await, Leftovers::Killed, "the sleep");
    assert_eq!(group.collect().await.unwrap(), Exit::Signal { number: 15, name: Some("SIGTERM") });
    assert_eq!(group.collect().await.unwrap_err().kind(), ErrorKind::NotFound);
}

/// A dropped group dies at once, whatever the thread that looks for the rest can see.
#[tokio::test]
async fn a_dropped_group_is_killed_and_collected() {
    let group = blind(start("echo; sleep 300"));
    let leader = group.leader.as_raw_nonzero().get();
    drop(group);
    let begun = Instant::now();
    while fs::exists(format!("/proc/{leader}")).unwrap() {
        assert!(begun.elapsed() < Duration::from_secs(20), "the program was not killed or not collected");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The program itself is no leftover.
#[tokio::test]
async fn a_lone_program_leaves_nothing() {
    let mut group = start("echo; exec sleep 300");
    assert_eq!(group.clear(Duration::from_secs(60)).await, Leftovers::None);
    assert_eq!(group.collect().await.unwrap(), Exit::Signal { number: 15, name: Some("SIGTERM") });
}
