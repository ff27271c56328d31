use std::time::SystemTime;

use super::*;

const NAME: &str = ".soong-agent-0123456789abcdef.tmp";

/// A home, a project, and a file in it under a temporary name.
fn world(name: &str) -> (Drafts, PathBuf, Folder) {
    let root = agent_testkit::scratch(name);
    for folder in ["home", "project"] {
        fs::create_dir(root.join(folder)).unwrap();
    }
    fs::write(root.join("project").join(NAME), "half").unwrap();
    let Found::Folder(folder) = walk(&root.join("project")).unwrap() else { panic!("a folder") };
    (Drafts::in_home(&root.join("home")), root, folder)
}

fn noted(drafts: &Drafts, folder: &Folder) -> Note {
    let file = File::open(folder.path().join(NAME)).unwrap();
    drafts.note(folder, NAME.as_ref(), &file).unwrap()
}

/// The note of a process that was killed: it stays, and nobody holds its lock.
fn left(note: Note) -> PathBuf {
    let text = fs::read(&note.path).unwrap();
    let path = note.path.clone();
    drop(note);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

/// FND-15: what a killed process left is removed, its note too; what a living one is writing stays.
#[test]
fn what_was_left_goes() {
    let (drafts, root, folder) = world("drafts");
    let draft = root.join("project").join(NAME);
    let note = noted(&drafts, &folder);
    drafts.clear();
    assert!(draft.exists() && note.path.exists(), "its writer lives");
    left(note);
    drafts.clear();
    assert!(!draft.exists());
    assert_eq!(fs::read_dir(root.join("home")).unwrap().count(), 0);
}

/// FND-15: nothing is left in home by a write that ends.
#[test]
fn a_note_goes_with_its_write() {
    let (drafts, root, folder) = world("drafts-done");
    drop(noted(&drafts, &folder));
    assert_eq!(fs::read_dir(root.join("home")).unwrap().count(), 0);
}

/// FND-15: a file of the user's is never taken for ours: not by its name, nor by its place, nor by what a note says.
#[test]
fn files_of_others_stay() {
    let (drafts, root, folder) = world("drafts-others");
    let theirs = root.join("project").join(NAME);
    let path = left(noted(&drafts, &folder));
    let note = fs::read_to_string(&path).unwrap();
    // Another file under the name; the first one is kept, or its inode could be given again.
    fs::rename(&theirs, root.join("project/kept")).unwrap();
    fs::write(&theirs, "theirs").unwrap();
    drafts.clear();
    assert!(theirs.exists() && !path.exists());
    // The right file, but in a folder that a link leads to, or that the note does not name.
    fs::rename(root.join("project/kept"), &theirs).unwrap();
    std::os::unix::fs::symlink(root.join("project"), root.join("link")).unwrap();
    let cases = [
        note.replace("/project\n", "/link\n"),
        note.replace("/project\n", "/gone\n"),
        note.replace("/project\n", "/project"),
        note.replacen(' ', "", 1),
        "1 2\nrelative\n".to_owned(),
        String::new(),
    ];
    for text in cases {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &text).unwrap();
        drafts.clear();
        assert!(theirs.exists(), "{text:?}");
        // What says nothing may be of a writer that has just begun.
        let says_nothing = read(text.as_bytes()).is_none();
        assert_eq!(path.exists(), says_nothing, "{text:?}");
        if says_nothing {
            File::options().write(true).open(&path).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
            drafts.clear();
            assert!(!path.exists() && theirs.exists(), "{text:?}");
        }
    }
    // A note under another name than ours is none.
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path.with_file_name("config.toml"), &note).unwrap();
    drafts.clear();
    assert!(theirs.exists() && path.with_file_name("config.toml").exists());
}

/// FND-15: names that only look like ours are none.
#[test]
fn temporary_names() {
    assert!(is_temporary(&temporary_name(0)) && is_temporary(&temporary_name(u64::MAX)));
    for name in
        [".soong-agent-0123456789abcdeg.tmp", ".soong-agent-1.tmp", "soong-agent-0123456789abcdef.tmp", ".tmp", ""]
    {
        assert!(!is_temporary(name.as_ref()), "{name}");
    }
}
