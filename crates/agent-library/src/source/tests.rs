use std::fs;
use std::os::unix::fs::symlink;

use agent_testkit::scratch;
use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::{MAX_FILE, ReadError, head, read, text};

/// The hash is that of the whole file, however little of it is kept.
#[test]
fn whole_hash_of_a_part() {
    let file = scratch("library-source").join("a.md");
    let content = "é".repeat(100_000);
    fs::write(&file, &content).unwrap();
    let source = read(&file, 5).unwrap();
    assert_eq!((source.text.as_str(), source.bytes, source.more), ("éé", 200_000, true));
    assert_eq!(source.hash, blake3::hash(content.as_bytes()).to_hex().to_string());
    let source = read(&file, 1 << 20).unwrap();
    assert_eq!((source.text, source.more), (content, false));
    assert_eq!(head(&file, 7).unwrap(), "ééé");
    assert_eq!(head(&file, 8).unwrap(), "éééé");
}

/// A pipe does not hang, and nothing but a regular file is read.
#[test]
fn regular_files_only() {
    let folder = scratch("library-special");
    let (pipe, link, file) = (folder.join("pipe"), folder.join("link"), folder.join("file"));
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    fs::write(&file, "x").unwrap();
    symlink(&file, &link).unwrap();
    for path in [&pipe, &link, &folder] {
        assert!(matches!(read(path, 10), Err(ReadError::NotRegular(_))), "{path:?}");
        assert!(matches!(head(path, 10), Err(ReadError::NotRegular(_))), "{path:?}");
    }
    assert!(matches!(read(&folder.join("none"), 10), Err(ReadError::Io { .. })));
    fs::File::options().write(true).open(&file).unwrap().set_len(MAX_FILE + 1).unwrap();
    assert!(matches!(read(&file, 10), Err(ReadError::TooLong { .. })));
}

/// INST-04: only a character that the limit cut in two goes, what was never UTF-8 is shown.
#[test]
fn broken_text() {
    assert_eq!(text(b"a\xffb\xc3".to_vec(), false), "a\u{fffd}b\u{fffd}");
    assert_eq!(text(b"ab\xc3".to_vec(), true), "ab");
    assert_eq!(text(b"ab\xc3".to_vec(), false), "ab\u{fffd}");
}
