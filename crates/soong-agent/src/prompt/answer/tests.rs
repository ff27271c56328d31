use std::fs::File;
use std::io::{PipeReader, PipeWriter, Read, Write};
use std::os::unix::net::UnixStream;

use proptest::prelude::*;

use super::*;

fn pipe(input: &[u8]) -> (PipeReader, PipeWriter) {
    let (reader, mut writer) = io::pipe().unwrap();
    writer.write_all(input).unwrap();
    (reader, writer)
}

fn next(script: &mut Script, from: BorrowedFd<'_>) -> Answered {
    scripted(script, from, Duration::from_millis(250), &AtomicBool::new(false))
}

/// The decisions about so many questions, and whether each was an answer.
fn given(script: &mut Script, from: BorrowedFd<'_>, questions: usize) -> Vec<(DecisionKind, bool)> {
    let given = (0..questions).map(|_| next(script, from).decision);
    given.map(|it| (it.decision, !it.metadata.contains_key(PermissionDecision::UNANSWERED))).collect()
}

fn ended(input: &[u8]) -> Vec<(DecisionKind, bool)> {
    let (reader, writer) = pipe(input);
    drop(writer);
    given(&mut Script::of(reader.as_fd()), reader.as_fd(), 3)
}

const NONE: (DecisionKind, bool) = (DecisionKind::Deny, false);

/// FND-08: a socket is judged like a pipe, by taking what is there: what is no answer approves nothing.
#[test]
fn a_socket() {
    use DecisionKind::{AllowOnce, Deny};
    for (input, decisions) in [
        (&b"1\n3\n"[..], [(AllowOnce, true), (Deny, true), NONE]),
        (b"1\nsrc/main.rs\n", [NONE; 3]),
        (b"4\n1\n", [NONE; 3]),
        (b"", [NONE; 3]),
    ] {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(input).unwrap();
        drop(theirs);
        assert_eq!(given(&mut Script::of(ours.as_fd()), ours.as_fd(), 3), decisions, "{input:?}");
    }
}

/// CLI-3, PERM-12, FND-62: words and numbers; the end of input and anything else are no answer.
#[test]
fn answers() {
    use DecisionKind::{AllowForSession, AllowOnce, Deny};
    assert_eq!(ended(b"1\n2\n3\n"), [(AllowOnce, true), (AllowForSession, true), (Deny, true)]);
    assert_eq!(
        ended(b"allow once\nALLOW FOR SESSION\r\n deny "),
        [(AllowOnce, true), (AllowForSession, true), (Deny, true)]
    );
    assert_eq!(ended(b"y\nn\nn because\n"), [(AllowOnce, true), (Deny, true), (Deny, true)]);
    for none in [&b""[..], b"4\n1\n", b"1\nno file of that name\n", b"\n", &[0xFF, b'\n', b'1']] {
        assert_eq!(ended(none), [NONE; 3], "{none:?}");
    }
}

/// FND-62: a reason is told as it was typed; what is no answer is told which answers there are.
#[test]
fn what_is_told() {
    let (reader, _writer) = pipe(b"3 use tabs\nmaybe\n");
    let stop = AtomicBool::new(false);
    let reason = |answered: &Answered| answered.decision.reason.clone().unwrap_or_default();
    let first = typed(reader.as_fd(), &stop);
    assert_eq!((reason(&first).as_str(), first.note), ("the user said no: use tabs", None));
    let second = typed(reader.as_fd(), &stop);
    assert!(!second.decision.metadata.contains_key(PermissionDecision::UNANSWERED), "somebody was there");
    let note = second.note.unwrap();
    assert!(note.contains("\"maybe\" is no answer") && note.contains("1 or y") && note.contains("3 or n"), "{note}");
}

/// FND-08, PERM-12: a megabyte of rubbish is no answer, and nothing behind it is one.
#[test]
fn a_megabyte_of_rubbish() {
    let (reader, mut writer) = io::pipe().unwrap();
    let feeding = std::thread::spawn(move || {
        // Nobody reads it.
        let _ = writer.write_all(&vec![b'a'; 1 << 20]).and_then(|()| writer.write_all(b"\n1\n"));
    });
    let mut script = Script::of(reader.as_fd());
    let first = scripted(&mut script, reader.as_fd(), PIPE_TIMEOUT, &AtomicBool::new(false));
    let note = first.note.unwrap();
    assert!(note.contains("</dev/null") && note.len() < 400, "{note}");
    assert_eq!(given(&mut script, reader.as_fd(), 2), [NONE, NONE]);
    drop(reader);
    feeding.join().unwrap();
}

/// PERM-12: a pipe that stays open and silent is a denial after a while, and it says after how long.
#[test]
fn silence_on_a_pipe() {
    let (reader, _writer) = io::pipe().unwrap();
    let silent = next(&mut Script::of(reader.as_fd()), reader.as_fd());
    assert_eq!(silent.decision.decision, DecisionKind::Deny);
    assert_eq!(silent.decision.metadata[PermissionDecision::UNANSWERED], "no answer came within 0.25 s");
}

/// A question that nobody waits for any more stops reading at once.
#[test]
fn giving_up() {
    let (reader, _writer) = io::pipe().unwrap();
    let stop = AtomicBool::new(true);
    let mut script = Script::of(reader.as_fd());
    assert_eq!(scripted(&mut script, reader.as_fd(), PIPE_TIMEOUT, &stop).decision.decision, DecisionKind::Deny);
    assert_eq!(typed(reader.as_fd(), &stop).decision.decision, DecisionKind::Deny);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 200, ..ProptestConfig::default() })]

    /// FND-08: whatever stands on stdin, in a file or in a pipe, approves nothing unless every line of it is an answer, and
    /// what is no answer is all left there for whoever it is meant for.
    #[test]
    fn text_is_never_an_answer(
        lines in prop::collection::vec(prop_oneof![
            4 => "[123yn]|allow once|allow for session|deny|3 [a-z]{1,9}",
            1 => "|[4-9]|yes|[ -~]{0,30}|\\PC{0,9}|[123] ?[123]",
        ], 0..8),
        newline in any::<bool>(),
    ) {
        let mut input = lines.join("\n");
        if newline && !lines.is_empty() {
            input.push('\n');
        }
        let whole: Vec<&str> = if input.is_empty() { Vec::new() } else { input.trim_end_matches('\n').split('\n').collect() };
        let whole: Vec<&str> = if input.ends_with("\n\n") || input == "\n" { vec![""] } else { whole };
        let decisions: Option<Vec<_>> = whole.iter().map(|line| word::read(line).map(|read| (read.decision, true))).collect();
        let path = agent_testkit::scratch("text-is-no-answer").join("input");
        std::fs::write(&path, &input).unwrap();
        let mut file = File::open(&path).unwrap();
        let (mut reader, writer) = pipe(input.as_bytes());
        drop(writer);
        let mut script = Script::of(file.as_fd());
        let of_file = given(&mut script, file.as_fd(), whole.len() + 1);
        let mut script = Script::of(reader.as_fd());
        let of_pipe = given(&mut script, reader.as_fd(), whole.len() + 1);
        prop_assert_eq!(&of_file, &of_pipe);
        let (mut left, mut piped) = (String::new(), String::new());
        file.read_to_string(&mut left).unwrap();
        reader.read_to_string(&mut piped).unwrap();
        match decisions {
            Some(mut decisions) => {
                decisions.push(NONE);
                prop_assert_eq!(of_file, decisions);
                prop_assert_eq!(left + &piped, "");
            }
            None => {
                prop_assert_eq!(of_file, vec![NONE; whole.len() + 1]);
                prop_assert_eq!((&left, &piped), (&input, &input));
            }
        }
    }
}
