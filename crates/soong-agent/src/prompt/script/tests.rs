use std::fs::File;
use std::io::{PipeReader, Write as _};
use std::os::fd::AsFd;

use super::*;

fn pipe(input: &[u8]) -> (PipeReader, io::PipeWriter) {
    let (reader, mut writer) = io::pipe().unwrap();
    writer.write_all(input).unwrap();
    (reader, writer)
}

fn file(name: &str, input: &[u8]) -> File {
    let path = agent_testkit::scratch(name).join("input");
    std::fs::write(&path, input).unwrap();
    File::open(path).unwrap()
}

/// FND-08: looking takes nothing, neither of a file, whose offset is a loop's as well, nor of a pipe; taking takes just that.
#[test]
fn looking_takes_nothing() {
    let file = file("looking", b"1\nrest\n");
    let (pipe, writer) = pipe(b"1\nrest\n");
    for (from, behind) in [(file.as_fd(), Behind::End), (pipe.as_fd(), Behind::Open)] {
        let mut script = Script::of(from);
        for _ in 0..3 {
            assert_eq!(script.look(from).unwrap(), Seen::Text(b"1\nrest\n".to_vec(), behind));
        }
        assert!(script.take(from, b"1\n").unwrap());
        assert!(script.is_unread(from));
        assert_eq!(script.look(from).unwrap(), Seen::Text(b"rest\n".to_vec(), behind));
        assert!(!script.take(from, b"another").unwrap(), "that is not what is there");
    }
    drop(writer);
    let mut script = Script::of(pipe.as_fd());
    assert_eq!(script.look(pipe.as_fd()).unwrap(), Seen::End);
    assert!(!script.is_unread(pipe.as_fd()));
}

/// FND-08: an open pipe without anything in it is not an ended one, and its last line may come in parts.
#[test]
fn what_comes_later() {
    let (pipe, mut writer) = pipe(b"");
    let mut script = Script::of(pipe.as_fd());
    assert_eq!(script.look(pipe.as_fd()).unwrap(), Seen::Nothing);
    assert!(!script.is_unread(pipe.as_fd()));
    writer.write_all(b"allow o").unwrap();
    assert_eq!(script.look(pipe.as_fd()).unwrap(), Seen::Text(b"allow o".to_vec(), Behind::Open));
    writer.write_all(b"nce").unwrap();
    drop(writer);
    assert_eq!(script.look(pipe.as_fd()).unwrap(), Seen::Text(b"allow once".to_vec(), Behind::End));
}

/// FND-08: no more than 4 KiB are looked at.
#[test]
fn a_part_of_much() {
    let much = b"1\n".repeat(30_000);
    let file = file("much", &much);
    let (pipe, _writer) = pipe(&much);
    for from in [file.as_fd(), pipe.as_fd()] {
        let Seen::Text(text, behind) = Script::of(from).look(from).unwrap() else { panic!("there is text") };
        assert!(text.len() <= MOST && text.len() >= MOST / 2 && behind == Behind::More, "{}", text.len());
    }
}

/// What can be looked at only by taking it is kept until it is taken.
#[test]
fn what_is_kept() {
    let (pipe, writer) = pipe(b"3 no\n1\n");
    let mut script = Script { kind: Kind::Other, ..Script::of(pipe.as_fd()) };
    assert!(!script.is_unread(pipe.as_fd()), "who knows");
    assert_eq!(script.look(pipe.as_fd()).unwrap(), Seen::Text(b"3 no\n1\n".to_vec(), Behind::Open));
    assert!(script.is_unread(pipe.as_fd()));
    assert!(script.take(pipe.as_fd(), b"3 no\n").unwrap());
    drop(writer);
    assert_eq!(script.look(pipe.as_fd()).unwrap(), Seen::Text(b"1\n".to_vec(), Behind::End));
    assert!(script.take(pipe.as_fd(), b"1\n").unwrap());
    assert_eq!(script.look(pipe.as_fd()).unwrap(), Seen::End);
}

/// FND-08: what is answers, what may become one, and what is neither.
#[test]
fn judgements() {
    let foreign = |line: &str| Judged::Foreign(line.to_owned());
    let long = "x".repeat(MOST);
    for (text, behind, judged) in [
        ("1\n", Behind::End, Judged::Answers(2)),
        ("1", Behind::End, Judged::Answers(1)),
        ("1", Behind::Open, Judged::Beginning),
        ("y\r\n3 why\n", Behind::Open, Judged::Answers(3)),
        ("1\nall", Behind::Open, Judged::Answers(2)),
        ("1\nall", Behind::More, Judged::Answers(2)),
        ("1\nall", Behind::End, foreign("all")),
        ("1\nsrc/a.c", Behind::Open, foreign("src/a.c")),
        ("src/a.c\n1\n", Behind::Open, foreign("src/a.c")),
        ("1\n\n1\n", Behind::End, foreign("")),
        ("\n", Behind::Open, foreign("")),
        (&long, Behind::More, foreign(&long)),
    ] {
        assert_eq!(judge(text.as_bytes(), behind), judged, "{text:?} {behind:?}");
    }
}
