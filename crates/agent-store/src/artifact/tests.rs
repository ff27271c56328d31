use super::*;
use agent_testkit::scratch;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;

fn session() -> SessionId {
    SessionId::parse("sess_1").unwrap()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// ART-1: the layout; CFG-12: modes. The row names what the file holds.
#[test]
fn a_finished_artifact_lies_where_its_row_says() {
    let sessions = scratch("artifact").join("sessions");
    let mut file = ArtifactWriter::new(&sessions).begin_artifact(&session(), "out put.log").unwrap();
    file.write_all(b"hello ").unwrap();
    file.write_all(b"world").unwrap();
    assert_eq!(file.size_bytes(), 11);
    let path = file.path().to_owned();
    let row = file.finish();
    assert_eq!(path, sessions.join("sess_1/artifacts").join(row.artifact_id.as_str()).join("out_put.log"));
    assert_eq!((row.filename.as_str(), row.size_bytes), ("out_put.log", 11));
    assert_eq!(fs::read(&path).unwrap(), b"hello world");
    assert_eq!(mode(&path), 0o600);
    for folder in path.ancestors().skip(1).take(4) {
        assert_eq!(mode(folder), 0o700, "{}", folder.display());
    }
}

/// A file that was never finished leaves nothing behind.
#[test]
fn an_unfinished_artifact_is_removed() {
    let sessions = scratch("artifact-dropped");
    let mut file = ArtifactWriter::new(&sessions).begin_artifact(&session(), "x").unwrap();
    file.write_all(b"half").unwrap();
    drop(file);
    assert_eq!(fs::read_dir(sessions.join("sess_1/artifacts")).unwrap().count(), 0);
}

/// Two artifacts of one name do not meet.
#[test]
fn names_need_not_be_unique() {
    let writer = ArtifactWriter::new(scratch("artifact-twice"));
    let (a, b) = (writer.begin_artifact(&session(), "x").unwrap(), writer.begin_artifact(&session(), "x").unwrap());
    assert_ne!(a.path(), b.path());
    assert_ne!(a.id(), b.id());
}

/// The message names the step and the path, the cause is the source.
#[test]
fn a_folder_that_cannot_be_made_is_an_error() {
    let file = scratch("artifact-fault").join("a-file");
    fs::write(&file, "").unwrap();
    let error = ArtifactWriter::new(&file).begin_artifact(&session(), "x").unwrap_err();
    assert!(error.to_string().starts_with("cannot make the folder of /"), "{error}");
    assert!(std::error::Error::source(&error).is_some());
}
