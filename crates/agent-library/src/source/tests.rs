use std::fs;
use std::os::unix::fs::symlink;

use agent_protocol::TextEncoding;
use agent_testkit::scratch;
use proptest::prelude::*;
use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::{MAX_FILE, ReadError, head, read, utf8};

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
    assert_eq!(utf8(b"a\xffb\xc3".to_vec(), false), ("a\u{fffd}b\u{fffd}".to_owned(), false));
    assert_eq!(utf8(b"ab\xc3".to_vec(), true), ("ab".to_owned(), true));
    assert_eq!(utf8(b"ab\xc3".to_vec(), false), ("ab\u{fffd}".to_owned(), false));
    assert_eq!(utf8("a\u{fffd}".into(), false), ("a\u{fffd}".to_owned(), true));
}

/// INS-3: UTF-32 is not read, and that is said.
#[test]
fn utf_32_is_not_read() {
    let file = scratch("library-utf-32").join("AGENTS.md");
    for content in [&b"\xff\xfe\0\0a\0\0\0"[..], b"\0\0\xfe\xff\0\0\0a"] {
        fs::write(&file, content).unwrap();
        for error in [read(&file, 10).err().unwrap(), head(&file, 10).err().unwrap()] {
            assert!(error.to_string().contains("UTF-32") && error.why().contains("UTF-32"), "{error}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    /// INS-3: a file in any encoding that is read gives the text that was written, whole or up to a limit, and counts its own bytes.
    #[test]
    fn text_in_any_encoding_is_read(text in "[a-zé語😀\n-]{1,200}", form in 0usize..4, limit in 1usize..300) {
        let forms = [TextEncoding::Plain, TextEncoding::Utf8Mark, TextEncoding::Utf16Little, TextEncoding::Utf16Big];
        let file = scratch("library-encodings").join("a.md");
        let content = forms[form].encode(text.clone().into_bytes()).unwrap();
        fs::write(&file, &content).unwrap();
        let plain = |text: &str| text.strip_prefix('\u{feff}').unwrap_or(text).to_owned();
        prop_assert_eq!(plain(&read(&file, 10_000).unwrap().text), text.clone());
        prop_assert_eq!(plain(&head(&file, 10_000).unwrap()), text.clone());
        for (part, more) in [(read(&file, limit).unwrap().text, read(&file, limit).unwrap().more), (head(&file, limit).unwrap(), false)] {
            prop_assert!(text.starts_with(&plain(&part)), "{:?}", part);
            prop_assert!(more || form < 2 || plain(&part) == text || content.len() >= 2 * limit, "{:?}", part);
        }
        let source = read(&file, 10_000).unwrap();
        prop_assert_eq!(source.bytes_until(source.text.len()), content.len() as u64);
    }
}
