use std::{
    fs,
    io::Write,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::Path,
};

use super::*;
use crate::place::{Found, walk};

/// A place to write to, as a call would have prepared it.
fn writable(path: &Path) -> Writable {
    match walk(path).unwrap() {
        Found::Entry { folder, name, stat } => {
            let hash = Some(*blake3::hash(&fs::read(path).unwrap()).as_bytes());
            Writable { folder, to_make: Vec::new(), name, before: Before::File { stat, hash }, drafts: None }
        }
        Found::Missing { folder, mut missing } => {
            let name = missing.pop().unwrap();
            Writable { folder, to_make: missing, name, before: Before::Missing, drafts: None }
        }
        Found::Folder(folder) => panic!("{} is a folder", folder.path().display()),
    }
}

fn write(place: Writable, content: &str) -> Result<FileStamp, ReplaceError> {
    place.replace(&Fence::new(), |file| file.write_all(content.as_bytes()))
}

#[track_caller]
fn changed(result: Result<FileStamp, ReplaceError>) {
    assert!(matches!(result, Err(ReplaceError::Changed(_) | ReplaceError::Os { .. })), "{result:?}");
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// COD-5: a write replaces the file as a whole, keeps its rights, and leaves nothing else.
#[test]
fn a_file_is_replaced() {
    let root = agent_testkit::scratch("replace");
    let path = root.join("f");
    fs::write(&path, "old").unwrap();
    for mode in [0o755, 0o600, 0o444] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let before = fs::metadata(&path).unwrap().ino();
        let stamp = write(writable(&path), "new").unwrap();
        let after = fs::metadata(&path).unwrap();
        assert_eq!((after.mode() & 0o7777, after.ino(), after.size()), (mode, stamp.inode, 3));
        assert_ne!(after.ino(), before);
    }
    assert_eq!((fs::read_to_string(&path).unwrap().as_str(), names(&root)), ("new", vec!["f".to_owned()]));
}

/// COD-5: while it is written, nothing is to be seen in the folder that a killed process would leave behind.
#[cfg(target_os = "linux")]
#[test]
fn a_draft_has_no_name() {
    let root = agent_testkit::scratch("draft");
    fs::write(root.join("f"), "old").unwrap();
    for place in [writable(&root.join("f")), writable(&root.join("g"))] {
        let before = names(&root);
        place
            .replace(&Fence::new(), |file| {
                assert_eq!(names(&root), before);
                file.write_all(b"new")
            })
            .unwrap();
    }
    assert_eq!(names(&root), ["f", "g"]);
}

/// A new file has the rights every new file gets, and its folders are made.
#[test]
fn a_file_is_made() {
    let root = agent_testkit::scratch("make");
    write(writable(&root.join("a/b/f")), "x").unwrap();
    fs::write(root.join("plain"), "").unwrap();
    assert_eq!(fs::metadata(root.join("a/b/f")).unwrap().mode(), fs::metadata(root.join("plain")).unwrap().mode());
}

/// EDIT-16: when writing fails half way, as on a full disk, the old content is there and nothing else.
#[test]
fn a_failed_write_leaves_the_old_file() {
    let root = agent_testkit::scratch("full-disk");
    let path = root.join("f");
    fs::write(&path, "old").unwrap();
    for place in [writable(&path), writable(&root.join("new"))] {
        let result = place.replace(&Fence::new(), |file| {
            file.write_all(b"half")?;
            Err(io::ErrorKind::StorageFull.into())
        });
        assert!(matches!(result, Err(ReplaceError::Os { .. })), "{result:?}");
    }
    assert_eq!((fs::read_to_string(&path).unwrap().as_str(), names(&root)), ("old", vec!["f".to_owned()]));
}

/// EDIT-16: until the last moment the name has the old content whole, from then on the new.
#[test]
fn nobody_sees_half_a_file() {
    let root = agent_testkit::scratch("half");
    let path = root.join("f");
    fs::write(&path, "old").unwrap();
    let place = writable(&path);
    place
        .replace(&Fence::new(), |file| {
            for _ in 0..100 {
                file.write_all(b"new")?;
                assert_eq!(fs::read(&path)?, b"old");
            }
            Ok(())
        })
        .unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new".repeat(100));
}

/// TOL-9: whatever became of the place since it was prepared, what is there now is not touched.
#[test]
fn a_changed_place_is_not_written() {
    let root = agent_testkit::scratch("changed");
    let outside = root.join("outside");
    fs::write(&outside, "theirs").unwrap();
    let path = root.join("f");
    let cases: [&dyn Fn(); 6] = [
        &|| fs::write(&path, "longer than before").unwrap(),
        // The same size, maybe in the same tick of the clock.
        &|| fs::write(&path, "OLD").unwrap(),
        &|| fs::remove_file(&path).unwrap(),
        // Made private: the old rights must not come back.
        &|| fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap(),
        &|| {
            fs::remove_file(&path).unwrap();
            symlink(&outside, &path).unwrap();
        },
        &|| {
            fs::remove_file(&path).unwrap();
            fs::create_dir(&path).unwrap();
        },
    ];
    for change in cases {
        let _ = fs::remove_dir(&path);
        let _ = fs::remove_file(&path);
        fs::write(&path, "old").unwrap();
        let place = writable(&path);
        change();
        let result = write(place, "new");
        assert!(matches!(result, Err(ReplaceError::Changed(_))), "{result:?}");
    }
    assert_eq!(fs::read_to_string(&outside).unwrap(), "theirs");
    assert_eq!(names(&root), ["f", "outside"]);
}

/// TOL-9: a name that was free is not taken from whoever took it meanwhile; not even in the last moment.
#[test]
fn a_name_taken_meanwhile_is_not_replaced() {
    let root = agent_testkit::scratch("taken");
    let path = root.join("f");
    let place = writable(&path);
    fs::write(&path, "theirs").unwrap();
    changed(write(place, "new"));
    fs::remove_file(&path).unwrap();
    let folder = walk(&root).unwrap();
    let Found::Folder(folder) = folder else { panic!("a folder") };
    let temporary = Temporary::make(&folder, &Before::Missing, None).unwrap();
    fs::write(&path, "theirs").unwrap();
    assert!(matches!(temporary.take_the_place_of("f".as_ref(), &Before::Missing), Err(ReplaceError::Changed(_))));
    assert_eq!((fs::read_to_string(&path).unwrap().as_str(), names(&root)), ("theirs", vec!["f".to_owned()]));
}

/// Where the system cannot take only a free name in one step, a second name does it.
#[test]
fn a_free_name_can_be_taken_by_a_link() {
    let root = agent_testkit::scratch("taken-by-link");
    let Found::Folder(folder) = walk(&root).unwrap() else { panic!("a folder") };
    let mut temporary = Temporary::make(&folder, &Before::Missing, None).unwrap();
    fs::write(root.join("f"), "theirs").unwrap();
    temporary.get_a_name().unwrap();
    assert_eq!(temporary.take_free_name_as_link("f".as_ref()), Err(Errno::EXIST));
    temporary.take_free_name_as_link("g".as_ref()).unwrap();
    assert_eq!(names(&root), ["f", "g"]);
}

/// COD-1, COD-8: a folder swapped for a link between the phases redirects nothing, whether it was there or was to be
/// made.
#[test]
fn a_swapped_folder_redirects_nothing() {
    let root = agent_testkit::scratch("swap");
    fs::create_dir_all(root.join("ws/d")).unwrap();
    fs::create_dir(root.join("outside")).unwrap();
    let place = writable(&root.join("ws/d/f"));
    fs::rename(root.join("ws/d"), root.join("ws/moved")).unwrap();
    symlink(root.join("outside"), root.join("ws/d")).unwrap();
    changed(write(place, "x"));
    let place = writable(&root.join("ws/new/deep/f"));
    symlink(root.join("outside"), root.join("ws/new")).unwrap();
    changed(write(place, "x"));
    assert_eq!(names(&root.join("outside")), [""; 0]);
    assert_eq!(names(&root.join("ws/moved")), [""; 0]);
}

/// COD-8: a folder that is moved out while its file is being written takes nothing along.
#[cfg(target_os = "linux")]
#[test]
fn a_folder_moved_meanwhile_gets_nothing() {
    let root = agent_testkit::scratch("moved-meanwhile");
    for (n, path) in ["ws/d/f", "ws/e/new/f"].into_iter().enumerate() {
        let folder = root.join(path).parent().unwrap().to_owned();
        fs::create_dir_all(if n == 0 { folder.as_path() } else { folder.parent().unwrap() }).unwrap();
        let outside = root.join(format!("outside-{n}"));
        let result = writable(&root.join(path)).replace(&Fence::new(), |file| {
            fs::rename(&folder, &outside)?;
            file.write_all(b"x")
        });
        changed(result);
        assert_eq!(names(&outside), [""; 0]);
    }
}

/// RUN-12: after the end of the run nothing is made, and a write under way does not take its place.
#[test]
fn a_late_write_changes_nothing() {
    let root = agent_testkit::scratch("late");
    fs::write(root.join("f"), "old").unwrap();
    let fence = Fence::new();
    let result = writable(&root.join("f")).replace(&fence, |file| {
        fence.close();
        file.write_all(b"new")
    });
    assert!(matches!(result, Err(ReplaceError::TooLate(_))), "{result:?}");
    let result = writable(&root.join("a/b")).replace(&fence, |file| file.write_all(b"new"));
    assert!(matches!(result, Err(ReplaceError::TooLate(_))), "{result:?}");
    assert_eq!((fs::read_to_string(root.join("f")).unwrap().as_str(), names(&root)), ("old", vec!["f".to_owned()]));
}

/// FND-03: a change that nothing but the content tells, or nothing but the time that cannot be set back, is not undone.
#[test]
fn changes_with_times_set_back_are_seen() {
    let root = agent_testkit::scratch("set-back");
    let path = root.join("f");
    for (size, hashed) in [(3, true), (3, false), (5 << 20, true), (5 << 20, false)] {
        fs::write(&path, vec![b'a'; size]).unwrap();
        let times = fs::metadata(&path).unwrap().modified().unwrap();
        let mut place = writable(&path);
        if let (false, Before::File { hash, .. }) = (hashed, &mut place.before) {
            *hash = None;
        }
        let mut theirs = vec![b'a'; size];
        theirs[size / 2] = b'b';
        // In place, and the time set back.
        let mut file = fs::File::options().write(true).open(&path).unwrap();
        file.write_all(&theirs).unwrap();
        file.set_modified(times).unwrap();
        assert!(matches!(write(place, "new"), Err(ReplaceError::Changed(_))), "{size} {hashed}");
        assert!(fs::read(&path).unwrap() == theirs, "{size} {hashed}");
        // Of a mapped file the system may tell nothing at all: then the content decides.
        let mut place = writable(&path);
        if let Before::File { hash, .. } = &mut place.before {
            *hash = Some([0; 32]);
        }
        assert!(matches!(write(place, "new"), Err(ReplaceError::Changed(_))), "{size}");
        // Something else about it: what a list or a mode allows now must not be lost.
        let place = writable(&path);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(write(place, "new"), Err(ReplaceError::Changed(_))), "{size}");
        write(writable(&path), "new").unwrap();
    }
    assert_eq!(names(&root), ["f"]);
}

/// FND-15: the name that a file has for a moment is noted while it has it, and the note is gone with it.
#[test]
fn a_name_for_a_moment_is_noted() {
    let root = agent_testkit::scratch("noted");
    fs::create_dir(root.join("home")).unwrap();
    fs::write(root.join("f"), "old").unwrap();
    let Found::Folder(folder) = walk(&root).unwrap() else { panic!("a folder") };
    let drafts = Drafts::in_home(&root.join("home"));
    let mut temporary = Temporary::make(&folder, &Before::Missing, Some(drafts.clone())).unwrap();
    temporary.get_a_name().unwrap();
    let name = temporary.name.clone().into_string().unwrap();
    assert_eq!(names(&root.join("home/drafts")), [name.as_str()]);
    drafts.clear();
    assert!(root.join(&name).exists(), "its writer lives");
    drop(temporary);
    assert_eq!((names(&root), names(&root.join("home"))), (vec!["f".to_owned(), "home".to_owned()], vec![]));
    // Nor does a whole write leave anything.
    let place = Writable { drafts: Some(drafts), ..writable(&root.join("f")) };
    write(place, "new").unwrap();
    assert_eq!((names(&root), names(&root.join("home"))), (vec!["f".to_owned(), "home".to_owned()], vec![]));
}
