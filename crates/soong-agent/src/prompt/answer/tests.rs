use std::fs::File;

use super::*;

fn given(input: &[u8]) -> Vec<(DecisionKind, bool)> {
    let (reader, mut writer) = io::pipe().unwrap();
    io::Write::write_all(&mut writer, input).unwrap();
    drop(writer);
    let file = File::from(std::os::fd::OwnedFd::from(reader));
    let stop = AtomicBool::new(false);
    let mut given = Vec::new();
    for _ in 0..3 {
        let decision = answer(&file, PIPE_TIMEOUT, &stop);
        given.push((decision.decision, decision.metadata.contains_key(PermissionDecision::UNANSWERED)));
    }
    given
}

/// CLI-3, PERM-12: words and numbers; anything else and the end of input are a denial, the latter an unanswered one.
#[test]
fn answers() {
    use DecisionKind::{AllowForSession, AllowOnce, Deny};
    let end = (Deny, true);
    assert_eq!(given(b"1\n2\n3\n"), [(AllowOnce, false), (AllowForSession, false), (Deny, false)]);
    assert_eq!(
        given(b"allow once\nALLOW FOR SESSION\r\n deny "),
        [(AllowOnce, false), (AllowForSession, false), (Deny, false)]
    );
    assert_eq!(given(b"4\ny\n\n"), [(Deny, false), (Deny, false), (Deny, false)]);
    assert_eq!(given(b""), [end, end, end]);
    assert_eq!(given(&[0xFF, b'\n', b'1']), [(Deny, false), (AllowOnce, false), end]);
}

/// PERM-12: a megabyte of rubbish is one answer, and the next question still gets its own.
#[test]
fn a_megabyte_of_rubbish() {
    let (reader, mut writer) = io::pipe().unwrap();
    let feeding = std::thread::spawn(move || {
        io::Write::write_all(&mut writer, &vec![b'a'; 1 << 20]).unwrap();
        io::Write::write_all(&mut writer, b"\n1\n").unwrap();
    });
    let file = File::from(std::os::fd::OwnedFd::from(reader));
    let stop = AtomicBool::new(false);
    assert_eq!(answer(&file, PIPE_TIMEOUT, &stop).decision, DecisionKind::Deny);
    assert_eq!(answer(&file, PIPE_TIMEOUT, &stop).decision, DecisionKind::AllowOnce);
    feeding.join().unwrap();
}

/// PERM-12: a pipe that stays open and silent is a denial after a while, and it says after how long.
#[test]
fn silence_on_a_pipe() {
    let (reader, _writer) = io::pipe().unwrap();
    let file = File::from(std::os::fd::OwnedFd::from(reader));
    let silent = answer(&file, Duration::from_millis(250), &AtomicBool::new(false));
    assert_eq!(silent.decision, DecisionKind::Deny);
    assert_eq!(silent.metadata[PermissionDecision::UNANSWERED], "no answer came within 0.25 s");
}

/// A question that nobody waits for any more stops reading at once.
#[test]
fn giving_up() {
    let (reader, _writer) = io::pipe().unwrap();
    let file = File::from(std::os::fd::OwnedFd::from(reader));
    let stop = AtomicBool::new(true);
    assert_eq!(answer(&file, PIPE_TIMEOUT, &stop).decision, DecisionKind::Deny);
}

/// CLI-3: what is said to have been answered could have been typed.
#[test]
fn words_can_be_typed() {
    for kind in [DecisionKind::AllowOnce, DecisionKind::AllowForSession, DecisionKind::Deny] {
        let decision = parse(words(kind));
        assert_eq!((decision.decision, decision.reason), (kind, None));
    }
}
