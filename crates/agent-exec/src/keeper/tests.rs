use super::Keeper;
use proptest::prelude::*;

#[track_caller]
fn check(keep: usize, chunks: &[&str], head: &str, omitted: u64, tail: &str) {
    let mut keeper = Keeper::new(keep);
    for chunk in chunks {
        keeper.push(chunk.as_bytes());
    }
    let kept = keeper.finish();
    let shown = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("cut on a character border");
    assert_eq!((shown(&kept.head).as_str(), kept.omitted, shown(&kept.tail).as_str()), (head, omitted, tail));
}

#[test]
fn head_and_tail_stay() {
    check(6, &["abcdefghij"], "abc", 4, "hij");
    check(6, &["a", "bc", "defg", "h", "ij"], "abc", 4, "hij");
    check(7, &["abcdefghij"], "abc", 3, "ghij");
    check(6, &["abcdef"], "abc", 0, "def");
    check(6, &["ab"], "ab", 0, "");
    check(1, &["ab"], "", 1, "b");
    check(0, &["ab"], "", 2, "");
    check(6, &[], "", 0, "");
}

#[test]
fn a_cut_through_a_character_drops_its_halves() {
    check(10, &["abcdé-------fghij"], "abcd", 9, "fghij"); // the first half of é ends the head
    check(10, &["abcde-------éfghi"], "abcde", 9, "fghi"); // the second half of é begins the tail
    check(8, &["日本語日本語"], "日", 12, "語");
    check(8, &["🦀🦀🦀"], "🦀", 4, "🦀");
    check(6, &["🦀🦀🦀"], "", 12, "");
}

#[test]
fn nothing_is_trimmed_when_nothing_is_missing() {
    let mut keeper = Keeper::new(6);
    keeper.push(&[b'a', b'b', 0xC3, 0xA9, b'c', b'd']);
    assert_eq!(keeper.finish().joined(), "abécd".as_bytes());
}

#[test]
fn bytes_that_are_no_text_stay() {
    let mut keeper = Keeper::new(6);
    keeper.push(&[0xFF, 0xFE, 0xFF, 1, 2, 3, 4, 0xFF, 0xC0, 0xFF]);
    let kept = keeper.finish();
    assert_eq!((kept.head.as_slice(), kept.tail.as_slice()), (&[0xFF, 0xFE, 0xFF][..], &[0xFF, 0xC0, 0xFF][..]));
}

#[test]
fn the_last_bytes_span_head_and_tail_only_without_a_gap() {
    let mut keeper = Keeper::new(6);
    keeper.push(b"abcde");
    assert_eq!(keeper.last(4), b"bcde");
    assert_eq!(keeper.last(100), b"abcde");
    assert_eq!(keeper.last(0), b"");
    keeper.push(b"fgh");
    assert_eq!(keeper.last(100), b"fgh");
}

proptest! {
    /// However the stream is cut into chunks: bounded memory, nothing invented, every byte accounted for.
    #[test]
    fn any_chunking_gives_the_same(keep in 0usize..40, chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 0..12)) {
        let whole = chunks.concat();
        let mut pieces = Keeper::new(keep);
        for chunk in &chunks {
            prop_assert_eq!(pieces.overflows_with(chunk.len()), pieces.joined().len() + chunk.len() > keep);
            pieces.push(chunk);
            prop_assert!(pieces.joined().len() <= keep);
        }
        let mut at_once = Keeper::new(keep);
        at_once.push(&whole);
        let kept = pieces.finish();
        prop_assert_eq!(&kept, &at_once.finish());
        prop_assert!(whole.starts_with(&kept.head));
        prop_assert!(whole.ends_with(&kept.tail));
        prop_assert_eq!(kept.head.len() + kept.tail.len() + usize::try_from(kept.omitted).unwrap(), whole.len());
        prop_assert_eq!(kept.omitted == 0, whole.len() <= keep);
    }
}
