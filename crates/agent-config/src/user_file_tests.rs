use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use super::{Distrust, UserFileError, distrust, read_user_file};

const LIMIT: u64 = 64;

fn file(name: &str, content: &[u8], mode: u32) -> PathBuf {
    let path = agent_testkit::scratch(name).join("file");
    fs::write(&path, content).expect("write");
    set_mode(&path, mode);
    path
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("chmod");
}

/// CFG-12: whose file it is and who may write it.
#[test]
fn trust_is_the_owner_and_nobody_else_writing() {
    const ME: u32 = 1000;
    let foreign = |owner| Some(Distrust::ForeignOwner { owner });
    let writable = |mode| Some(Distrust::WritableByOthers { mode });
    for (owner, mode, expected) in [
        (ME, 0o100_600, None),
        (ME, 0o100_644, None),
        (ME, 0o100_400, None),
        (0, 0o100_644, None),
        (1001, 0o100_600, foreign(1001)),
        (1001, 0o100_666, foreign(1001)),
        (ME, 0o100_620, writable(0o620)),
        (ME, 0o100_602, writable(0o602)),
        (ME, 0o100_666, writable(0o666)),
        (0, 0o100_664, writable(0o664)),
    ] {
        assert_eq!(distrust(owner, mode, ME), expected, "{owner} {mode:o}");
    }
    assert_eq!(distrust(ME, 0o100_600, 0), foreign(ME), "root does not run what others wrote");
}

/// CFG-12, on a real file: the message names the file and the cure.
#[test]
fn a_file_that_others_may_write_is_refused() {
    let path = file("writable", b"x", 0o666);
    let error = read_user_file(&path, LIMIT).expect_err("must be refused");
    let message = error.to_string();
    assert!(
        matches!(error, UserFileError::Distrusted { why: Distrust::WritableByOthers { mode: 0o666 }, .. }),
        "{message}"
    );
    assert!(message.contains(&path.display().to_string()) && message.contains("chmod go-w"), "{message}");
    set_mode(&path, 0o644);
    assert_eq!(read_user_file(&path, LIMIT).expect("now it is fine"), "x");
}

/// CFG-12, on a real file. Only root can give a file away; for others the table above stands.
#[test]
fn a_file_of_another_user_is_refused() {
    let path = file("foreign", b"x", 0o600);
    match chown(&path, Some(12345), None) {
        Ok(()) => {
            let error = read_user_file(&path, LIMIT).expect_err("must be refused");
            assert!(
                matches!(error, UserFileError::Distrusted { why: Distrust::ForeignOwner { owner: 12345 }, .. }),
                "{error}"
            );
        }
        Err(_) => assert_ne!(fs::metadata(&path).expect("metadata").uid(), 12345),
    }
}

/// CFG-12: a link is as good as the file behind it.
#[test]
fn links_are_judged_by_their_target() {
    let bad = file("link-target-bad", b"x", 0o602);
    let good = file("link-target-good", b"x", 0o600);
    let folder = agent_testkit::scratch("links");
    symlink(&bad, folder.join("bad")).expect("symlink");
    symlink(&good, folder.join("good")).expect("symlink");
    assert!(matches!(read_user_file(&folder.join("bad"), LIMIT), Err(UserFileError::Distrusted { .. })));
    assert_eq!(read_user_file(&folder.join("good"), LIMIT).expect("good"), "x");
}

#[test]
fn what_is_no_regular_file_is_refused_without_waiting() {
    let folder = agent_testkit::scratch("not-a-file");
    assert!(matches!(read_user_file(&folder, LIMIT), Err(UserFileError::NotAFile { .. })));
    let pipe = folder.join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
    assert!(made.success());
    assert!(matches!(read_user_file(&pipe, LIMIT), Err(UserFileError::NotAFile { .. })));
    assert!(matches!(read_user_file(&folder.join("none"), LIMIT), Err(UserFileError::Missing { .. })));
    let below_a_file = file("below", b"x", 0o600).join("config.toml");
    assert!(matches!(read_user_file(&below_a_file, LIMIT), Err(UserFileError::Read { .. })));
}

#[test]
fn the_limit_is_exact() {
    let limit = usize::try_from(LIMIT).expect("small");
    assert_eq!(read_user_file(&file("exact", &vec![b'a'; limit], 0o600), LIMIT).expect("fits").len(), limit);
    let over = read_user_file(&file("over", &vec![b'a'; limit + 1], 0o600), LIMIT);
    assert!(matches!(over, Err(UserFileError::TooBig { limit: LIMIT, .. })));
}

#[test]
fn what_is_not_utf8_names_the_line() {
    let error = read_user_file(&file("latin1", b"# ok\n# caf\xe9\n", 0o600), LIMIT).expect_err("must be refused");
    assert!(matches!(error, UserFileError::NotUtf8 { line: 2, .. }), "{error}");
    let utf16 = read_user_file(&file("utf16", b"\xff\xfe[\0m\0", 0o600), LIMIT).expect_err("must be refused");
    assert!(matches!(utf16, UserFileError::NotUtf8 { line: 1, .. }), "{utf16}");
}
