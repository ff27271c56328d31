use super::*;

fn error(extended_code: i32) -> StoreError {
    let site = Site::new("/home/u/sessions.sqlite", Duration::from_secs(5));
    let error = rusqlite::Error::SqliteFailure(ffi::Error::new(extended_code), None);
    Fault::from(error).at(&site, "commit to")
}

/// FND-16, RUN-21, STO-5: what SQLite reports becomes an error that names step and file and says what to do.
#[test]
fn sqlite_codes_are_told_apart() {
    for (code, kind, says) in [
        (ffi::SQLITE_BUSY, "locked", "another program has had it locked"),
        (ffi::SQLITE_BUSY_SNAPSHOT, "locked", "5s"),
        (ffi::SQLITE_FULL, "disk_full", "Make room"),
        (ffi::SQLITE_READONLY, "read_only", "permissions"),
        (ffi::SQLITE_READONLY_DBMOVED, "moved", "moved"),
        (ffi::SQLITE_CORRUPT_INDEX, "corrupt_file", "a repair copies"),
        (ffi::SQLITE_NOTADB, "foreign_file", "move it away"),
        (ffi::SQLITE_CONSTRAINT_UNIQUE, "rejected", "breaks a rule"),
        // The disk has room: it is not called full.
        (ffi::SQLITE_IOERR_SHMSIZE, "disk_fault", "look after the disk"),
        (ffi::SQLITE_IOERR_WRITE, "write_failed", "ulimit -f"),
        (ffi::SQLITE_CANTOPEN, "cannot_open", "permissions"),
        (ffi::SQLITE_IOERR_READ, "disk_fault", "Nothing says that what is stored is damaged"),
        (ffi::SQLITE_IOERR_CORRUPTFS, "disk_fault", "disk I/O error"),
    ] {
        let payload = error(code).payload();
        assert_eq!(payload.details["kind"], kind, "{code}");
        assert!(payload.message.contains(says), "{code}: {}", payload.message);
        assert_eq!(kind == "rejected", !payload.message.contains("/home/u/sessions.sqlite"), "{}", payload.message);
    }
}

/// ERR-5: SQLite's wrapper repeats its cause; the message does not.
#[test]
fn a_cause_is_told_once() {
    for words in [None, Some("disk I/O error".to_owned())] {
        let error = rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_IOERR_READ), words);
        let site = Site::new("/home/u/sessions.sqlite", Duration::from_secs(5));
        let message = Fault::from(error).at(&site, "commit to").payload().message;
        assert_eq!(message.matches("disk I/O error").count(), 1, "{message}");
    }
}
