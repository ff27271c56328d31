use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::testing::properties;

const KEY: &str = "sk-live/a+b=\"ü\"";

fn secrets() -> KnownSecrets {
    KnownSecrets::new([("OPENAI_API_KEY", "sk-abcdef"), ("OTHER", "sk-abcdef-longer"), ("ODD", KEY)]).unwrap()
}

#[track_caller]
fn check(text: &str, expected: &str) {
    let secrets = secrets();
    let redacted = secrets.redact(text);
    assert_eq!((redacted.text.as_ref(), redacted.hit), (expected, text != expected));
    assert_eq!(matches!(redacted.text, Cow::Borrowed(_)), text == expected, "clean text is not copied");
}

/// STO-10: known values are replaced by their names, the longest of those that begin first.
#[test]
fn values_become_names() {
    check("nothing here", "nothing here");
    check("", "");
    check("Bearer sk-abcdef", "Bearer [secret OPENAI_API_KEY]");
    check("sk-abcdefsk-abcdef", "[secret OPENAI_API_KEY][secret OPENAI_API_KEY]");
    check("sk-abcdef-longer!", "[secret OTHER]!");
    check("sk-abcdef-long", "[secret OPENAI_API_KEY]-long");
    check("é sk-abcdef é", "é [secret OPENAI_API_KEY] é");
    check("sk-abcde", "sk-abcde");
}

/// STO-10: the room that a cut needs is that of the longest form, not that of the value.
#[test]
fn the_longest_form_counts() {
    let longest = |value: &str| KnownSecrets::new([("KEY", value)]).unwrap().longest();
    assert_eq!(longest(&"/".repeat(100)), 300, "%2F");
    assert_eq!(KnownSecrets::new([("", ""); 0]).unwrap().longest(), 0);
}

/// STO-10, PRV-18: also as they stand in JSON, in JSON inside JSON, in URLs and in forms.
#[test]
fn values_in_other_formats() {
    let once = json!({ "k": KEY }).to_string();
    check(&once, "{\"k\":\"[secret ODD]\"}");
    check(&json!({ "body": once }).to_string(), r#"{"body":"{\"k\":\"[secret ODD]\"}"}"#);
    check(r#"sk-live\/a+b=\"ü\""#, "[secret ODD]");
    check(r#"sk-live/a+b=\"\u00fc\""#, "[secret ODD]");
    check("?key=sk-live%2Fa%2Bb%3D%22%C3%BC%22&x", "?key=[secret ODD]&x");
    check("?key=sk-live%2fa%2bb%3d%22%c3%bc%22", "?key=[secret ODD]");
    let form = KnownSecrets::new([("P", "pass word 1")]).unwrap();
    assert_eq!(form.redact("p=pass+word+1&q=pass%20word%201").text, "p=[secret P]&q=[secret P]");
}

/// Values that would wreck ordinary text are left alone, and said to be.
#[test]
fn short_and_huge_values_are_reported() {
    let huge = "x".repeat(MAX_SECRET_BYTES + 1);
    let secrets =
        KnownSecrets::new([("SHORT", "12345"), ("EMPTY", "  "), ("HUGE", &huge), ("OK", " 123456\n")]).unwrap();
    assert_eq!(secrets.ignored(), ["SHORT", "EMPTY", "HUGE"]);
    assert_eq!(secrets.redact("12345 123456 7").text, "12345 [secret OK] 7");
    assert!(!KnownSecrets::new::<&str, &str>([]).unwrap().redact("anything").hit);
}

/// STO-10: redacting again changes nothing, even where a value is a word of a marker.
#[test]
fn redacting_twice() {
    let secrets = KnownSecrets::new([("A_NAME", "secret"), ("B", "A_NAME")]).unwrap();
    let once = secrets.redact("the secret is A_NAME").text.into_owned();
    assert_eq!(once, "the [secret A_NAME] is [secret B]");
    assert_eq!(secrets.redact(&once), Redacted { text: Cow::Borrowed(once.as_str()), hit: false });
}

#[test]
fn names_cannot_break_out_of_their_marker() {
    let secrets = KnownSecrets::new([("a]\" \n\u{1b}b", "value-1")]).unwrap();
    assert_eq!(secrets.redact("value-1").text, "[secret a_____b]");
    let twice = KnownSecrets::new([("FIRST", "value-1"), ("SECOND", "value-1")]).unwrap();
    assert_eq!(twice.redact("value-1").text, "[secret FIRST]");
}

/// STO-10: no value in anything that may be logged.
#[test]
fn debug_shows_no_value() {
    let secrets = secrets();
    let mut stream = secrets.stream();
    stream.push(b"x sk-abcde", &mut Vec::new());
    for text in [format!("{secrets:?}"), format!("{stream:?}")] {
        assert!(!text.contains("sk-") && text.contains("OPENAI_API_KEY"), "{text}");
        assert!(!text.contains("115, 107"), "bytes of what is held back: {text}");
    }
}

/// STO-10: strings and keys at any depth; a document cannot be broken.
#[test]
fn json_values() {
    let secrets = KnownSecrets::new([("PIN", "123456")]).unwrap();
    let mut value = json!({"a": ["x 123456", {"123456": {"b": "123456"}}], "n": 123_456, "t": true});
    assert!(secrets.redact_json(&mut value));
    assert_eq!(
        value,
        json!({"a": ["x [secret PIN]", {"[secret PIN]": {"b": "[secret PIN]"}}], "n": 123_456, "t": true})
    );
    assert!(!secrets.redact_json(&mut value));
    let mut deep = json!("123456");
    for _ in 0..10_000 {
        deep = serde_json::Value::Array(vec![deep]);
    }
    assert!(secrets.redact_json(&mut deep));
    // Unwrapped by hand: dropping it in one piece would recurse.
    while let serde_json::Value::Array(items) = &mut deep {
        deep = items.pop().unwrap();
    }
    assert_eq!(deep, json!("[secret PIN]"));
}

fn streamed(secrets: &KnownSecrets, pieces: &[&[u8]]) -> (Vec<u8>, bool) {
    let (mut stream, mut out) = (secrets.stream(), Vec::new());
    for piece in pieces {
        stream.push(piece, &mut out);
    }
    let hit = stream.finish(&mut out);
    (out, hit)
}

/// A value that may begin inside one that is certain is none.
#[test]
fn overlapping_values_in_a_stream() {
    let secrets = KnownSecrets::new([("ONE", "abcabc"), ("TWO", "cabcxyz")]).unwrap();
    let (out, _) = streamed(&secrets, &[b"abcabc", b"xyz"]);
    assert_eq!(out, b"[secret ONE]xyz");
    assert_eq!(secrets.redact("abcabcxyz").text, "[secret ONE]xyz");
}

/// STO-10: a value that is split over pieces is caught, at every place it can be cut.
#[test]
fn split_values_are_caught() {
    let secrets = KnownSecrets::new([("KEY", "sk-abcdef"), ("OTHER", "sk-abcdef-the-longest")]).unwrap();
    let text = "a sk-abcdef-the-longest b sk-abcdef c sk-abc";
    let whole = "a [secret OTHER] b [secret KEY] c sk-abc";
    for cut in 0..=text.len() {
        let (head, tail) = text.as_bytes().split_at(cut);
        let (out, hit) = streamed(&secrets, &[head, tail]);
        assert_eq!((String::from_utf8(out).unwrap().as_str(), hit), (whole, true), "{cut}");
    }
}

/// Ordinary output is not kept waiting: only what may become a value is held back.
#[test]
fn ordinary_output_passes_at_once() {
    let (mut stream, mut out) = (secrets().stream(), Vec::new());
    for (piece, so_far) in [
        ("building…\n", "building…\n"),
        ("ask", "building…\na"),
        ("ed ", "building…\nasked "),
        ("sk-abcdef", "building…\nasked "),
        ("!", "building…\nasked [secret OPENAI_API_KEY]!"),
    ] {
        stream.push(piece.as_bytes(), &mut out);
        assert_eq!(String::from_utf8_lossy(&out), so_far);
    }
    assert!(stream.hit());
    stream.push(b" sk-abcdef-longer", &mut out);
    assert!(out.ends_with(b"! [secret OTHER]"), "a whole value that cannot become longer");
}

/// Bytes that are not UTF-8 pass unchanged.
#[test]
fn other_bytes_pass() {
    let (out, hit) = streamed(&secrets(), &[b"\xff\xfe sk-ab", b"cdef \x80"]);
    assert_eq!((out.as_slice(), hit), (&b"\xff\xfe [secret OPENAI_API_KEY] \x80"[..], true));
}

/// Few letters, so that values begin, end and contain each other.
fn value() -> impl Strategy<Value = String> {
    "[ab]{6,9}|[ab]{5}\"[ab]{1,3}|é[ab]{5}"
}

/// Values, and a text made of pieces of them: what only *may* be a value is everywhere.
fn values_and_text() -> impl Strategy<Value = (Vec<String>, String)> {
    let piece = (any::<prop::sample::Index>(), 0_usize..9, 1_usize..10);
    (prop::collection::vec(value(), 1..5), prop::collection::vec(piece, 0..12)).prop_map(|(values, pieces)| {
        let cut = |(which, from, length): &(prop::sample::Index, usize, usize)| {
            which.get(&values).chars().skip(*from).take(*length).collect::<String>()
        };
        let text = pieces.iter().map(cut).collect();
        (values, text)
    })
}

proptest! {
    #![proptest_config(properties())]

    /// STO-10: however a text is cut into pieces, the outcome is that of the whole.
    #[test]
    fn streaming_equals_the_whole(
        (values, text) in values_and_text(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let names = ["A", "B", "C", "D", "E"];
        let secrets = KnownSecrets::new(names.into_iter().zip(&values)).unwrap();
        let whole = secrets.redact(&text);
        let bytes = text.as_bytes();
        let mut borders: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).chain([0, bytes.len()]).collect();
        borders.sort_unstable();
        let pieces: Vec<&[u8]> = borders.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
        let (out, hit) = streamed(&secrets, &pieces);
        prop_assert_eq!((String::from_utf8(out).unwrap(), hit), (whole.text.into_owned(), whole.hit));
    }

    /// STO-10: no value is left in what was redacted, as it is or in JSON; redacting again changes nothing.
    #[test]
    fn nothing_is_left(values in prop::collection::vec("[a-d]{6,8}", 1..4), parts in prop::collection::vec("[a-d]{0,4}", 0..6)) {
        let secrets = KnownSecrets::new(values.iter().map(|value| ("K", value))).unwrap();
        let text = parts.join(&values[0]);
        let redacted = secrets.redact(&text).text.into_owned();
        for value in &values {
            prop_assert!(!redacted.contains(value.as_str()));
        }
        prop_assert_eq!(&secrets.redact(&redacted).text, &redacted);
        let mut json = serde_json::json!([{ &text: &text }]);
        secrets.redact_json(&mut json);
        prop_assert!(values.iter().all(|value| !json.to_string().contains(value.as_str())));
    }
}
