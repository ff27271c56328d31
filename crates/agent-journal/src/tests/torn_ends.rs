use std::fs;

use super::{lines, open};
use crate::{Journal, ReadError};

const GROUPS: [&[u8]; 3] = [b"{\"n\":1}\n", b"{\"n\":2}\n{\"n\":\"\xc3\xa4\"}\n", b"{\"n\":4}\n"];

/// WAL-01, WAL-02, WAL-4: a log cut at any byte has its whole lines, takes new ones behind them, twice in a row, and loses no byte of
/// the torn end unseen. A reader that does not own it sees the whole lines only.
#[test]
fn a_log_cut_at_every_byte() {
    let folder = tempfile::tempdir().unwrap();
    let all: Vec<u8> = GROUPS.concat();
    for cut in 0..=all.len() {
        let path = folder.path().join(format!("{cut}.jsonl"));
        fs::write(&path, &all[..cut]).unwrap();
        let whole = all[..cut].iter().filter(|byte| **byte == b'\n').count();
        let end = all[..cut].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        assert_eq!(lines(&path).len(), whole, "read at {cut}");
        let opened = open(&path);
        assert_eq!((opened.lines, opened.journal.len()), (whole as u64, end as u64), "opened at {cut}");
        match opened.torn {
            None => assert_eq!(end, cut),
            Some(torn) => {
                assert_eq!((torn.offset, torn.bytes), (end as u64, (cut - end) as u64));
                assert_eq!(fs::read(&torn.kept_at).unwrap(), &all[end..cut]);
            }
        }
        let mut journal = opened.journal;
        journal.append(b"{\"new\":1}\n").unwrap();
        drop(journal);
        // Torn once more, at the same byte.
        let log = fs::read(&path).unwrap();
        fs::write(&path, [&log[..], b"{\"to"].concat()).unwrap();
        let again = open(&path);
        assert_eq!(again.lines, whole as u64 + 1);
        assert!(again.torn.is_some());
        drop(again);
        assert_eq!(lines(&path).last().unwrap(), "{\"new\":1}");
    }
}

/// WAL-4: a last line that is no JSON was torn as well, such as one of zeros; in the middle nothing is mended or dropped.
#[test]
fn only_the_last_line_can_be_torn() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    for torn in [&b"{\"n\":\n"[..], b"\0\0\0\0\n", b"\xff\xfe\n", b"\n"] {
        fs::write(&path, [GROUPS[0], torn].concat()).unwrap();
        assert_eq!(lines(&path).len(), 1);
        let opened = open(&path);
        assert_eq!((opened.lines, opened.torn.unwrap().bytes), (1, torn.len() as u64));
    }
    let damaged = [b"{\"n\":\n", GROUPS[0]].concat();
    fs::write(&path, &damaged).unwrap();
    let refused = Journal::open(&path, |line| if line == "{\"n\":" { Err("no JSON") } else { Ok(()) });
    assert!(matches!(refused, Err(ReadError::Refused("no JSON"))));
    assert_eq!(fs::read(&path).unwrap(), damaged);
    let not_text = [b"\xff\n", GROUPS[0]].concat();
    fs::write(&path, &not_text).unwrap();
    let error = Journal::open(&path, |_| Ok::<_, String>(())).unwrap_err().to_string();
    assert!(error.ends_with("line 1 is not text"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), not_text);
}
