use proptest::prelude::*;

use super::*;
use crate::testing::properties;

/// Everything a parser says about bytes that come in these chunks.
fn lines(ends: LineEnds, limit: usize, chunks: &[&[u8]]) -> Result<Vec<String>, TooLong> {
    let mut parser = Lines::new(ends, limit);
    let mut seen = Vec::new();
    let mut keep = |line: &str| {
        seen.push(line.to_owned());
        Ok(())
    };
    for chunk in chunks {
        parser.push(chunk, &mut keep)?;
    }
    parser.finish(&mut keep)?;
    Ok(seen)
}

fn events(limit: usize, chunks: &[&[u8]]) -> Result<Vec<String>, TooLong> {
    let mut parser = Sse::new(limit);
    let mut seen = Vec::new();
    let mut keep = |event: SseEvent<'_>| {
        seen.push(format!("{}|{}", event.name, event.data.replace('\n', "⏎")));
        Ok(())
    };
    for chunk in chunks {
        parser.push(chunk, &mut keep)?;
    }
    parser.finish(&mut keep)?;
    Ok(seen)
}

/// Whole, byte by byte, and cut in two at every place: always the same.
#[track_caller]
fn check_events(bytes: &[u8], expected: &[&str]) {
    assert_eq!(events(1000, &[bytes]).unwrap(), expected);
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(events(1000, &single).unwrap(), expected);
    for cut in 0..=bytes.len() {
        assert_eq!(events(1000, &[&bytes[..cut], &[], &bytes[cut..]]).unwrap(), expected, "cut at {cut}");
    }
}

/// STRM-22: CRLF, a missing blank after the colon, comments, several data lines, events without data.
#[test]
fn events_of_the_standard_and_of_servers() {
    check_events(b": ping\r\n\r\nevent: message\r\ndata:{\"a\":1}\r\ndata:\r\n\r\n", &["message|{\"a\":1}⏎"]);
    check_events(b"data: a\n\ndata: b\n\n", &["|a", "|b"]);
    check_events(b"data: a\r\rdata: b\r\r", &["|a", "|b"]);
    check_events(b"data: a\n\r\ndata: b\r\n\r", &["|a", "|b"]);
    check_events(b"data: one\ndata: two\ndata\ndata: four\n\n", &["|one⏎two⏎⏎four"]);
    check_events(b"event: x\nid: 7\nretry: 10\n\ndata:\n\ndata: \n\n", &[]);
    check_events(b"data:  two blanks\n\n", &["| two blanks"]);
    check_events(b"\xef\xbb\xbfdata: bom\n\n", &["|bom"]);
    check_events("data: \u{4f60}\u{1f600}\u{2028}x\n\n".as_bytes(), &["|\u{4f60}\u{1f600}\u{2028}x"]);
    check_events(b"error: {\"code\":400}\n\n", &["error|{\"code\":400}"]);
    check_events(b"event: a\ndata: 1\n\ndata: 2\n\n", &["a|1", "|2"]);
    check_events(b"data: no blank line", &["|no blank line"]);
    check_events(b"nonsense\ndatax: y\n\n", &[]);
    check_events(b"", &[]);
}

/// PRV-16: broken bytes spoil their own line and nothing else.
#[test]
fn broken_bytes_stay_in_their_line() {
    check_events(b"data: a\xff\xc3b\n\ndata: ok\n\n", &["|a\u{fffd}\u{fffd}b", "|ok"]);
}

/// NDJSON lines end in LF only: U+2028 and a lone CR are content.
#[test]
fn lines_of_ndjson() {
    for cut in 0..12 {
        let bytes = b"\xef\xbb\xbfa\r\n\nb\rc\nd";
        let expected = ["a", "", "b\rc", "d"];
        assert_eq!(lines(LineEnds::Lf, 100, &[&bytes[..cut], &bytes[cut..]]).unwrap(), expected);
    }
}

/// STRM-22, PRV-16: what is too long is an error before it is memory, in any cut.
#[test]
fn long_lines_and_events_are_refused() {
    let line = [b"data: ".as_slice(), &[b'x'; 95]].concat();
    for size in [1, 7, 64, 200] {
        let chunks: Vec<&[u8]> = line.chunks(size).collect();
        assert_eq!(events(100, &chunks), Err(TooLong { limit: 100 }), "size {size}");
        assert_eq!(lines(LineEnds::Lf, 100, &chunks), Err(TooLong { limit: 100 }), "size {size}");
    }
    let ended = [&line[..], b"\n\n"].concat();
    assert_eq!(events(100, &[&ended]), Err(TooLong { limit: 100 }));
    // Many short lines of one event count together.
    let many = b"data: 0123456789\n".repeat(11);
    assert_eq!(events(100, &[&many]), Err(TooLong { limit: 100 }));
    assert_eq!(events(101, &[&line]).unwrap().len(), 1);
}

/// Cuts bytes at the given places, in any order and number.
fn cut<'a>(bytes: &'a [u8], places: &[prop::sample::Index]) -> Vec<&'a [u8]> {
    let mut at: Vec<usize> = places.iter().map(|place| place.index(bytes.len() + 1)).collect();
    at.sort_unstable();
    let mut chunks = Vec::new();
    let mut from = 0;
    for to in at {
        chunks.push(&bytes[from..to]);
        from = to;
    }
    chunks.push(&bytes[from..]);
    chunks
}

/// Bytes rich in what the parsers look at.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"data: ".to_vec()),
        Just(b"data:".to_vec()),
        Just(b"event: e".to_vec()),
        Just(b": c".to_vec()),
        Just(b"\n".to_vec()),
        Just(b"\r".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"\n\n".to_vec()),
        Just(b"\xef\xbb\xbf".to_vec()),
        Just("é😀".as_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 0..6),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(properties())]

    /// TST-4: the cut into chunks never shows, for any bytes.
    #[test]
    fn chunking_never_shows(bytes in stream(), places in prop::collection::vec(any::<prop::sample::Index>(), 0..12)) {
        let chunks = cut(&bytes, &places);
        prop_assert_eq!(events(1000, &chunks), events(1000, &[&bytes]));
        for ends in [LineEnds::Lf, LineEnds::Any] {
            prop_assert_eq!(lines(ends, 1000, &chunks), lines(ends, 1000, &[&bytes]));
        }
    }

    /// TST-4: lines of any text come back as they were, whatever ends them.
    #[test]
    fn lines_come_back(
        texts in prop::collection::vec("[^\r\n\u{feff}]{1,8}", 1..6),
        end in prop::sample::select(vec!["\n", "\r", "\r\n"]),
        places in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let bytes = format!("{}{end}", texts.join(end)).into_bytes();
        prop_assert_eq!(lines(LineEnds::Any, 1000, &cut(&bytes, &places)).unwrap(), texts);
    }
}
