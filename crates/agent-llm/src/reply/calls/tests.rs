use std::borrow::Cow;

use agent_protocol::{MAX_INVALID_ARGUMENTS_ECHO, MAX_NAME};
use proptest::prelude::*;

use super::*;
use crate::testing::{TOOLS, properties};

/// A piece: index, id, name, arguments; `-1` and empty strings are absent.
type Piece = (i64, &'static str, &'static str, &'static str);

fn names() -> NameTable {
    NameTable::new(TOOLS)
}

/// Finished calls as `id:name{arguments}`; providers' ids are taken as they are, a missing one is `?`.
fn collect(pieces: &[Piece]) -> Vec<String> {
    let mut slots = CallSlots::default();
    let mut out = Vec::new();
    for (index, id, name, arguments) in pieces {
        slots.next_message();
        let filled = |text: &'static str| (!text.is_empty()).then_some(text);
        let piece = CallPiece {
            index: u64::try_from(*index).ok(),
            id: filled(id),
            name: filled(name),
            arguments: Cow::Borrowed(arguments),
            ..CallPiece::default()
        };
        slots.add(piece, &names(), &mut out).unwrap();
    }
    let assign = |ids: &[Option<String>]| {
        ids.iter().map(|id| ToolCallId::parse(id.as_deref().unwrap_or("none")).unwrap()).collect()
    };
    let calls = slots.finish(false, &names(), assign, &mut out);
    let show = |call: &ToolCall| {
        let error = call.arguments_error().map(|_| "!").unwrap_or_default();
        format!("{}:{}{}{error}", call.tool_call_id, call.name, Value::Object(call.arguments.clone()))
    };
    calls.iter().flatten().map(show).collect()
}

#[track_caller]
fn check(pieces: &[Piece], expected: &[&str]) {
    assert_eq!(collect(pieces), expected);
}

const READ: &str = "code__read_file";
const WRITE: &str = "code__write_file";
const A: &str = r#"c1:code.read_file{"path":"a"}"#;
const B: &str = r#"c2:code.read_file{"path":"b"}"#;

/// The protocol as it is written: one index a call, the id on its first piece.
#[test]
fn canonical_pieces() {
    check(&[(0, "c1", READ, ""), (0, "", "", r#"{"path""#), (0, "", "", r#":"a"}"#)], &[A]);
    check(&[(0, "c1", READ, r#"{"path":"a"}"#), (1, "c2", READ, r#"{"path":"b"}"#)], &[A, B]);
}

/// STRM-04: two calls share index 0 and differ in their ids.
#[test]
fn one_index_for_all() {
    check(&[(0, "c1", READ, r#"{"path":"a"}"#), (0, "c2", READ, r#"{"path":"b"}"#)], &[A, B]);
    check(
        &[(0, "c1", READ, ""), (0, "", "", r#"{"path":"a"}"#), (0, "c2", READ, ""), (0, "", "", r#"{"path":"b"}"#)],
        &[A, B],
    );
    // Without ids, a name and a complete object before it tell.
    check(
        &[(0, "", READ, r#"{"path":"a"}"#), (0, "", WRITE, r#"{"path":"b"}"#)],
        &[r#"none:code.read_file{"path":"a"}"#, r#"none:code.write_file{"path":"b"}"#],
    );
}

/// STRM-16: pieces of parallel calls are interleaved and carry only their index.
#[test]
fn interleaved_by_index() {
    check(
        &[
            (0, "c1", READ, r#"{"pa"#),
            (1, "c2", READ, r#"{"pa"#),
            (0, "", "", r#"th":"a"}"#),
            (1, "", "", r#"th":"b"}"#),
        ],
        &[A, B],
    );
}

/// No index at all: an id or a name begins a call, anything else goes on.
#[test]
fn no_index() {
    check(&[(-1, "c1", READ, r#"{"path":"a"}"#), (-1, "c2", READ, r#"{"path":"b"}"#)], &[A, B]);
    check(
        &[
            (-1, "c1", READ, r#"{"pa"#),
            (-1, "", "", r#"th":"a"}"#),
            (-1, "c2", READ, ""),
            (-1, "", "", r#"{"path":"b"}"#),
        ],
        &[A, B],
    );
    check(&[(-1, "", READ, r#"{"pa"#), (-1, "", READ, r#"th":"a"}"#)], &[r#"none:code.read_file{"path":"a"}"#]);
    check(&[(-1, "", READ, "{}"), (-1, "", READ, "{}")], &["none:code.read_file{}", "none:code.read_file{}"]);
}

/// FND-40: calls that share an id are told apart by their index, or else by a name or arguments that begin anew; one that is said
/// again in a later message is the same.
#[test]
fn one_id_for_all() {
    const A_AND_B: &[&str] = &[r#"c:code.read_file{"path":"a"}"#, r#"c:code.read_file{"path":"b"}"#];
    let (a, b) = (r#"{"path":"a"}"#, r#"{"path":"b"}"#);
    check(&[(0, "c", READ, a), (1, "c", READ, b)], A_AND_B);
    check(&[(-1, "c", READ, a), (-1, "c", READ, b)], A_AND_B);
    check(&[(0, "c", READ, a), (0, "c", READ, b)], A_AND_B);
    // Interleaved, with the id on every piece.
    check(
        &[
            (0, "c", READ, r#"{"pa"#),
            (1, "c", READ, r#"{"pa"#),
            (0, "c", "", r#"th":"a"}"#),
            (1, "c", "", r#"th":"b"}"#),
        ],
        A_AND_B,
    );
    // The name comes by itself, before the arguments.
    for index in [0, -1] {
        check(&[(index, "c", READ, ""), (index, "", "", a), (index, "c", READ, ""), (index, "", "", b)], A_AND_B);
        check(&[(index, "c", READ, ""), (index, "c", "", a), (index, "c", READ, ""), (index, "c", "", b)], A_AND_B);
        check(&[(index, "c", READ, ""), (index, "c", WRITE, "")], &["c:code.read_file{}", "c:code.write_file{}"]);
        check(
            &[(index, "c", READ, a), (index, "c", "nonsense", ""), (index, "c", "", b)],
            &[r#"c:code.read_file{"path":"a"}"#, r#"c:nonsense{"path":"b"}"#],
        );
        // The same again, by a relay, or the end of a server that repeats the head.
        check(&[(index, "c", READ, a), (index, "c", READ, a)], &A_AND_B[..1]);
        check(&[(index, "c", READ, a), (index, "c", READ, ""), (index, "c", READ, "")], &A_AND_B[..1]);
    }
    // Told apart by their index, equal calls are two.
    check(&[(0, "c", READ, a), (1, "c", READ, a)], &[A_AND_B[0], A_AND_B[0]]);
    // An index that moves on with every piece of one call names no other call.
    check(&[(0, "c", READ, r#"{"pa"#), (1, "c", "", r#"th":"a"}"#)], &A_AND_B[..1]);
    check(&[(0, "c", READ, r#"{"pa"#), (1, "c", READ, r#"th":"a"}"#)], &A_AND_B[..1]);
}

/// Ids that are repeated on every piece, come empty, or change with every piece.
#[test]
fn odd_ids() {
    check(&[(0, "c1", READ, r#"{"pa"#), (0, "c1", "", r#"th":"a"}"#)], &[A]);
    check(&[(-1, "c1", READ, r#"{"pa"#), (-1, "c1", "", r#"th":"a"}"#)], &[A]);
    check(&[(0, "c1", READ, r#"{"pa"#), (0, "x9", "", r#"th":"#), (0, "x10", "", r#""a"}"#)], &[A]);
    check(&[(0, "c1", READ, r#"{"pa"#), (0, "x9", READ, r#"th":"a"}"#)], &[A]);
    // The first id of a call that began without one.
    check(&[(0, "", READ, ""), (0, "c1", "", r#"{"path":"a"}"#)], &[A]);
}

/// Servers that begin to count late, or name a new call by its id alone; an id alone is no call.
#[test]
fn odd_beginnings() {
    check(&[(-1, "c1", READ, r#"{"pa"#), (-1, "x9", "", r#"th":"a"}"#)], &[A]);
    check(&[(-1, "c1", READ, ""), (0, "", "", r#"{"path":"a"}"#)], &[A]);
    check(&[(0, "c1", READ, r#"{"path":"a"}"#), (0, "c2", "", ""), (0, "c2", READ, r#"{"path":"b"}"#)], &[A, B]);
    check(&[(0, "c1", READ, r#"{"path":"a"}"#), (0, "x9", "", "")], &[A]);
    check(&[(0, "c1", READ, "{}"), (0, "", READ, r#"{"path":"a"}"#)], &[A]);
    check(
        &[(0, "", READ, "{}"), (0, "", READ, r#"{"path":"a"}"#)],
        &["none:code.read_file{}", r#"none:code.read_file{"path":"a"}"#],
    );
}

/// Names that come late, again, or in pieces.
#[test]
fn odd_names() {
    check(&[(0, "c1", "", r#"{"path":"#), (0, "", READ, r#""a"}"#)], &[A]);
    check(&[(0, "c1", READ, r#"{"path""#), (0, "", READ, r#":"a"}"#)], &[A]);
    check(&[(0, "c1", "code__", ""), (0, "", "read_", ""), (0, "", "file", r#"{"path":"a"}"#)], &[A]);
    check(&[(0, "c1", READ, ""), (0, "", "nonsense", r#"{"path":"a"}"#)], &[A]);
    check(&[(0, "c1", "", "{}")], &["c1:unnamed{}"]);
    check(&[(0, "", "", "")], &[]);
}

/// Text that already is an object may go on: nothing is decided before the end.
#[test]
fn complete_text_may_go_on() {
    check(&[(0, "c1", READ, r#"{"path":"a"}"#), (0, "", "", " \n")], &[A]);
    check(&[(0, "c1", READ, r#"{"path":"}{"}"#), (0, "", READ, "")], &[r#"c1:code.read_file{"path":"}{"}"#]);
    check(&[(0, "c1", READ, r#"{"path":"a"}"#), (0, "", "", r#"{"path":"b"}"#)], &["c1:code.read_file{}!"]);
}

/// FND-40: calls that come whole are separate, whatever they share; the same under the same id in a later message is the same.
#[test]
fn whole_calls() {
    let mut slots = CallSlots::default();
    let mut out = Vec::new();
    for message in [
        &[("c", "{}"), ("c", "{}"), ("c", r#"{"a":1}"#), ("", "{}"), ("", "{}")][..],
        &[("c", "{}"), ("c", r#"{"a":1}"#), ("c", r#"{"a":2}"#)],
    ] {
        slots.next_message();
        for (id, arguments) in message {
            let id = (!id.is_empty()).then_some(*id);
            let arguments = (*arguments).into();
            let piece = CallPiece { whole: true, id, name: Some(READ), arguments, ..CallPiece::default() };
            slots.add(piece, &names(), &mut out).unwrap();
        }
    }
    let assign = |ids: &[Option<String>]| ids.iter().map(|_| ToolCallId::parse("x").unwrap()).collect();
    assert_eq!(slots.finish(false, &names(), assign, &mut out).len(), 6);
}

/// PRV-4, PRV-5, PRV-6: what the model and the provider really said stays in the metadata, cut to 800 characters.
#[test]
fn raw_words_are_kept() {
    let mut slots = CallSlots::default();
    let mut out = Vec::new();
    let broken = format!("{{\"path\": \"{}", "é".repeat(2000));
    let piece = CallPiece {
        id: Some("bad id"),
        name: Some("functions.code_read_file"),
        arguments: Cow::Owned(broken.clone()),
        extra: Some(serde_json::json!({"google": 1})),
        ..CallPiece::default()
    };
    slots.add(piece, &names(), &mut out).unwrap();
    let assign = |_: &[Option<String>]| vec![ToolCallId::parse("call_1").unwrap()];
    let call = slots.finish(true, &names(), assign, &mut out).remove(0).unwrap();
    assert_eq!((call.name.as_str(), call.arguments.len()), ("code.read_file", 0));
    assert_eq!(call.metadata["raw_name"], "functions.code_read_file");
    assert_eq!(call.metadata["raw_id"], "bad id");
    assert_eq!(call.metadata["extra_content"]["google"], 1);
    let echo = call.metadata[ToolCall::INVALID_ARGUMENTS].as_str().unwrap();
    assert!(broken.starts_with(echo) && echo.chars().count() == MAX_INVALID_ARGUMENTS_ECHO);
    assert!(call.arguments_error().unwrap().starts_with("cut at the output limit: "));
}

/// FND-16: of a name or an id that is longer than any the beginning stays, and it is no tool's; a name that fits stays as it is. That
/// holds whichever piece brings it, and for what is shown meanwhile.
#[test]
fn long_names_are_cut() {
    let whole_and_split = [(Some("{}"), None), (None, Some("{}")), (None, None)];
    for letter in ["x", "é", "字", "🦀", "code.read_file"] {
        for bytes in [200, 256, 257, 258, 259, 300, 3_000_000] {
            let said = letter.repeat(bytes / letter.len());
            for (with_name, after) in whole_and_split {
                let (mut slots, mut out) = (CallSlots::default(), Vec::new());
                for (name, arguments) in [(Some(said.as_str()), with_name), (None, after)] {
                    let arguments = Cow::Borrowed(arguments.unwrap_or_default());
                    let piece = CallPiece { index: Some(0), id: Some(&said), name, arguments, ..CallPiece::default() };
                    slots.add(piece, &names(), &mut out).unwrap();
                }
                let assign = |_: &[Option<String>]| vec![ToolCallId::parse("call_1").unwrap()];
                let call = slots.finish(false, &names(), assign, &mut out).remove(0).unwrap();
                let shown = out.iter().find_map(|event| match event {
                    ModelEvent::ToolCallDelta { name, .. } => name.clone(),
                    _ => None,
                });
                assert_eq!(shown.as_ref(), Some(&call.name));
                for kept in [call.name.as_str(), call.metadata["raw_id"].as_str().unwrap()] {
                    assert!(kept.len() <= MAX_NAME);
                    match kept.strip_suffix('…') {
                        Some(start) => assert!(said.len() > MAX_NAME && said.starts_with(start) && start.len() > 248),
                        None => assert_eq!(kept, said),
                    }
                }
                assert!(serde_json::to_string(&call).unwrap().len() < 4 * MAX_NAME);
            }
        }
    }
}

/// No unbounded memory: a reply with more calls than any turn can mean is an error.
#[test]
fn the_number_of_calls_is_bounded() {
    let mut slots = CallSlots::default();
    let mut out = Vec::new();
    let mut add = |index| {
        let piece = CallPiece { index: Some(index), name: Some("f"), ..CallPiece::default() };
        slots.add(piece, &names(), &mut out)
    };
    for index in 0..MAX_CALLS as u64 {
        add(index).unwrap();
    }
    assert_eq!(add(9999), Err(BrokenStream::TooManyCalls { limit: MAX_CALLS }));
}

/// Cuts a text at these places, wherever they fall between characters.
fn fragments(text: &str, places: &[prop::sample::Index]) -> Vec<String> {
    let mut at: Vec<usize> = places.iter().map(|place| text.floor_char_boundary(place.index(text.len() + 1))).collect();
    at.sort_unstable();
    let mut pieces = Vec::new();
    let mut from = 0;
    for to in at.into_iter().chain([text.len()]) {
        pieces.push(text[from..to].to_owned());
        from = to;
    }
    pieces
}

proptest! {
    #![proptest_config(properties())]

    /// TST-4, PRV-6, STRM-16: calls come back as they were said, into however many pieces their arguments were cut and in
    /// whatever order the pieces of different calls came.
    #[test]
    fn calls_come_back_whole(
        texts in prop::collection::vec("[^\u{0}]{0,12}", 1..5),
        places in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        order in prop::collection::vec(any::<prop::sample::Index>(), 0..60),
        with_ids in any::<bool>(),
    ) {
        let arguments: Vec<Value> = texts.iter().map(|text| serde_json::json!({"path": text, "n": [1, {}]})).collect();
        let mut waiting: Vec<(usize, std::collections::VecDeque<String>)> =
            arguments.iter().map(|value| fragments(&value.to_string(), &places).into()).enumerate().collect();
        let mut slots = CallSlots::default();
        let mut out = Vec::new();
        for (call, _) in &waiting {
            let id = format!("c{call}");
            let piece = CallPiece { index: Some(*call as u64), id: Some(&id), name: Some(READ), ..CallPiece::default() };
            slots.add(piece, &names(), &mut out).unwrap();
        }
        let mut order = order.iter();
        while !waiting.is_empty() {
            let at = order.next().map_or(0, |place| place.index(waiting.len()));
            let (call, pieces) = &mut waiting[at];
            let (id, piece) = (format!("c{call}"), pieces.pop_front().unwrap_or_default());
            let id = with_ids.then_some(id.as_str());
            let piece = CallPiece { index: Some(*call as u64), id, arguments: piece.into(), ..CallPiece::default() };
            slots.add(piece, &names(), &mut out).unwrap();
            if pieces.is_empty() {
                waiting.remove(at);
            }
        }
        let assign = |ids: &[Option<String>]| {
            ids.iter().map(|id| ToolCallId::parse(id.as_deref().unwrap_or("none")).unwrap()).collect()
        };
        let calls = slots.finish(false, &names(), assign, &mut out);
        let said: Vec<Value> = calls.into_iter().flatten().map(|call| Value::Object(call.arguments)).collect();
        prop_assert_eq!(said, arguments);
    }
}
