use super::*;
use agent_testkit::scratch;

fn session() -> SessionId {
    SessionId::parse("sess_1").unwrap()
}

/// RUN-4: one at a time, until it is dropped.
#[test]
fn a_lock_is_held_until_it_is_dropped() {
    let sessions = scratch("lock");
    let lock = try_take(&sessions, &session()).unwrap().unwrap();
    assert!(try_take(&sessions, &session()).unwrap().is_none());
    assert!(try_take(&sessions, &SessionId::parse("sess_2").unwrap()).unwrap().is_some());
    drop(lock);
    assert!(try_take(&sessions, &session()).unwrap().is_some());
}

/// A process being started shares all open files for a moment: it does not keep what was given back.
#[test]
fn a_shared_descriptor_does_not_keep_the_lock() {
    let sessions = scratch("lock-shared");
    let lock = try_take(&sessions, &session()).unwrap().unwrap();
    let _shared = lock.file.try_clone().unwrap();
    drop(lock);
    assert!(try_take(&sessions, &session()).unwrap().is_some());
}

/// A file that was opened and then removed or replaced is not the one to lock.
#[test]
fn only_the_file_at_the_path_counts() {
    let path = scratch("lock-moved").join("lock");
    let file = private::open_or_make(&path).unwrap();
    assert!(is_at(&file, &path).unwrap());
    fs::remove_file(&path).unwrap();
    assert!(!is_at(&file, &path).unwrap());
    private::open_or_make(&path).unwrap();
    assert!(!is_at(&file, &path).unwrap());
}

/// What is in the way is named.
#[test]
fn a_folder_that_cannot_be_made_is_an_error() {
    let sessions = scratch("lock-fault");
    fs::write(sessions.join("sess_1"), "a file").unwrap();
    let error = try_take(&sessions, &session()).unwrap_err();
    assert!(error.to_string().starts_with("cannot make the folder /"), "{error}");
}
