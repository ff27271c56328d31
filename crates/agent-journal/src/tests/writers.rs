use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::Mutex;

use super::{lines, open};
use crate::{Journal, JournalError, ReadError};

/// WAL-1: an existing file is never taken for a new log, whatever it is.
#[test]
fn a_new_log_takes_no_name_that_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    let journal = Journal::create(&path, b"{}\n").unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    drop(journal);
    assert!(matches!(Journal::create(&path, b"{}\n"), Err(JournalError::Exists(_))));
    std::os::unix::fs::symlink("nowhere", folder.path().join("link")).unwrap();
    assert!(matches!(Journal::create(&folder.path().join("link"), b"{}\n"), Err(JournalError::Exists(_))));
    assert_eq!(lines(&path), ["{}"]);
    // One that could not be made leaves nothing.
    let missing = folder.path().join("no/b.jsonl");
    assert!(Journal::create(&missing, b"{}\n").unwrap_err().to_string().starts_with("cannot make"));
    assert!(matches!(Journal::create(&folder.path().join("c"), b"{}"), Err(JournalError::NotWhole)));
    assert!(!folder.path().join("c").exists());
    fs::create_dir(folder.path().join("d")).unwrap();
    assert!(matches!(Journal::open(&folder.path().join("d"), |_| Ok::<_, ()>(())), Err(ReadError::Journal(_))));
}

/// WAL-3: a second writer is refused and told who writes; the lock ends with its holder.
#[test]
fn one_writer_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    let journal = Journal::create(&path, b"{}\n").unwrap();
    match Journal::open(&path, |_| Ok::<_, ()>(())) {
        Err(ReadError::Journal(error @ JournalError::Locked { .. })) => {
            let told = format!("in use by process {}", std::process::id());
            assert!(error.to_string().ends_with(&told) || !fs::exists("/proc/locks").unwrap(), "{error}");
        }
        other => panic!("{other:?}"),
    }
    drop(journal);
    open(&path);
}

/// WAL-04: many threads, whole lines, in the order in which they were acknowledged.
#[test]
fn lines_stay_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    let journal = Mutex::new((Journal::create(&path, b"0\n").unwrap(), 0));
    std::thread::scope(|threads| {
        for _ in 0..16 {
            threads.spawn(|| {
                for _ in 0..8 {
                    let mut guard = journal.lock().unwrap();
                    let (journal, last) = &mut *guard;
                    *last += 1;
                    journal
                        .append(format!("{last}\n\"{}\"\n", "x".repeat(600 << 10 >> (*last % 8))).as_bytes())
                        .unwrap();
                }
            });
        }
    });
    let numbers: Vec<u32> = lines(&path).iter().filter_map(|line| line.parse().ok()).collect();
    assert_eq!(numbers, (0..=128).collect::<Vec<_>>());
    assert_eq!(fs::metadata(&path).unwrap().size(), journal.into_inner().unwrap().0.len());
}

/// WAL-2: what somebody else cut from a log or wrote behind it is noticed before anything is acknowledged on top of it.
#[test]
fn a_log_that_is_changed_is_noticed() {
    for len in [0, 2, 9] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        let mut journal = Journal::create(&path, b"{}\n").unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_len(len).unwrap();
        let error = journal.append(b"{}\n").unwrap_err().to_string();
        assert!(error.contains("changed by somebody else"), "{error}");
        assert!(journal.is_broken());
        assert_eq!(fs::metadata(&path).unwrap().len(), len, "nothing was written");
    }
}

/// WAL-2: what is written to a log that was moved or removed is lost; so it is not acknowledged.
#[test]
fn a_log_that_is_gone_is_noticed() {
    for replace in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        let mut journal = Journal::create(&path, b"{}\n").unwrap();
        fs::rename(&path, folder.path().join("b.jsonl")).unwrap();
        if replace {
            fs::write(&path, b"{}\n").unwrap();
        }
        for _ in 0..2 {
            let error = journal.append(b"{}\n").unwrap_err().to_string();
            assert!(error.contains("moved, removed or changed"), "{error}");
        }
        assert!(journal.is_broken());
        assert_eq!(lines(&folder.path().join("b.jsonl")), ["{}"]);
    }
}
