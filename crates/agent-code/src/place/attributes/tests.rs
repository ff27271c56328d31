use std::{
    fs,
    io::Write,
    os::unix::fs::{MetadataExt, PermissionsExt, chown},
    path::{Path, PathBuf},
};

use agent_tool::Fence;
use proptest::prelude::*;
use rustix::fs::{getxattr, setxattr};

use super::*;
use crate::place::{Before, Found, ReplaceError, Writable, walk};

/// An access control list: entries of a tag, rights and an id, in the system's form.
fn list(entries: &[(u16, u16, u32)]) -> Vec<u8> {
    let mut bytes = 2u32.to_le_bytes().to_vec();
    for (tag, rights, id) in entries {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(rights.to_le_bytes());
        bytes.extend(id.to_le_bytes());
    }
    bytes
}

const NOBODY: u32 = u32::MAX;

/// `user::rw-,user:4321:MINE,group::r--,mask::MASK,other::---`
fn list_with(user: u16, mask: u16) -> Vec<u8> {
    list(&[(1, 6, NOBODY), (2, user, 4321), (4, 4, NOBODY), (16, mask, NOBODY), (32, 0, NOBODY)])
}

fn get(path: &Path, name: &str) -> Option<Vec<u8>> {
    let mut value = vec![0; 4096];
    let length = getxattr(path, name, &mut value[..]).ok()?;
    Some(value[..length].to_vec())
}

fn set(path: &Path, name: &str, value: &[u8]) {
    setxattr(path, name, value, XattrFlags::empty()).unwrap_or_else(|error| panic!("{name}: {error}"));
}

fn replace(path: &Path) -> Result<(), ReplaceError> {
    let Found::Entry { folder, name, stat } = walk(path).unwrap() else { panic!("a file") };
    let hash = Some(*blake3::hash(&fs::read(path).unwrap()).as_bytes());
    let before = Before::File { stat, hash };
    let place = Writable { folder, to_make: Vec::new(), name, before, drafts: None };
    place.replace(&Fence::new(), |file| file.write_all(b"new")).map(|_| ())
}

fn file(name: &str) -> PathBuf {
    let path = agent_testkit::scratch(name).join("f");
    fs::write(&path, "old").unwrap();
    path
}

/// FND-02: a list survives, and with it that its mask takes rights away.
#[test]
fn access_lists_survive() {
    let path = file("attributes-list");
    for (user, mask) in [(6, 4), (7, 7), (4, 0), (0, 6)] {
        let before = list_with(user, mask);
        set(&path, "system.posix_acl_access", &before);
        let mode = fs::metadata(&path).unwrap().mode();
        replace(&path).unwrap();
        assert_eq!(get(&path, "system.posix_acl_access"), Some(before));
        assert_eq!((fs::metadata(&path).unwrap().mode(), fs::read(&path).unwrap()), (mode, b"new".to_vec()));
    }
}

/// FND-02: what a folder hands down to new files is no right that the old file gave.
#[test]
fn nothing_is_handed_down() {
    let path = file("attributes-default");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o660)).unwrap();
    set(path.parent().unwrap(), "system.posix_acl_default", &list_with(6, 6));
    replace(&path).unwrap();
    assert_eq!(get(&path, "system.posix_acl_access"), None);
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o660);
    // A file that is really new gets it.
    let other = path.parent().unwrap().join("other");
    fs::write(&other, "").unwrap();
    assert!(get(&other, "system.posix_acl_access").is_some());
}

/// FND-02: capabilities survive, though writing, chown and chmod take them away.
#[test]
fn capabilities_survive() {
    if !rustix::process::geteuid().is_root() {
        return cannot_be_given();
    }
    let path = file("attributes-capability");
    // Version 2, effective: cap_net_bind_service.
    let capability = [0x0200_0001u32, 1 << 10, 0, 0, 0].map(u32::to_le_bytes).concat();
    set(&path, "security.capability", &capability);
    replace(&path).unwrap();
    assert_eq!(get(&path, "security.capability"), Some(capability));
}

/// Who is not root has no file with capabilities to lose; that they cannot be given is then what to rely on.
fn cannot_be_given() {
    let path = file("attributes-no-capability");
    assert!(setxattr(&path, "security.capability", &[0; 20], XattrFlags::empty()).is_err());
}

/// FND-02: what cannot be kept is said, and nothing is changed.
#[test]
fn what_cannot_be_kept_is_said() {
    if !rustix::process::geteuid().is_root() {
        return cannot_be_given();
    }
    let path = file("attributes-refused");
    let capability = [0x0200_0001u32, 1 << 10, 0, 0, 0].map(u32::to_le_bytes).concat();
    set(&path, "security.capability", &capability);
    let error = crate::testing::without_privileges(|| replace(&path).unwrap_err());
    assert!(matches!(&error, ReplaceError::Unlike { what, .. } if what.contains("security.capability")), "{error:?}");
    assert_eq!((fs::read(&path).unwrap(), get(&path, "security.capability")), (b"old".to_vec(), Some(capability)));
    // Another group would get what this one may do; where that is no more than everybody may, nothing is given.
    let path = file("attributes-group");
    chown(&path, None, Some(4321)).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o664)).unwrap();
    let error = crate::testing::without_privileges(|| replace(&path).unwrap_err());
    assert!(matches!(&error, ReplaceError::Unlike { what, .. } if what.contains("group")), "{error:?}");
    assert_eq!((fs::read(&path).unwrap(), fs::metadata(&path).unwrap().gid()), (b"old".to_vec(), 4321));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    crate::testing::without_privileges(|| replace(&path).unwrap());
    assert_eq!(fs::read(&path).unwrap(), b"new");
}

proptest! {
    #![proptest_config(crate::testing::cases(48))]

    /// FND-02: whatever attributes and list a file has, its successor has the same and no others.
    #[test]
    fn attributes_survive(
        people in prop::collection::btree_map("[a-z.]{1,20}", prop::collection::vec(any::<u8>(), 0..64), 0..4),
        access in prop::option::of((0u16..8, 0u16..8)),
        handed_down: bool,
    ) {
        let path = file("attributes-any");
        if handed_down {
            set(path.parent().unwrap(), "system.posix_acl_default", &list_with(7, 7));
        }
        for (name, value) in &people {
            set(&path, &format!("user.{name}"), value);
        }
        if let Some((user, mask)) = access {
            set(&path, "system.posix_acl_access", &list_with(user, mask));
        }
        let before = read(&File::open(&path).unwrap()).unwrap();
        let mode = fs::metadata(&path).unwrap().mode();
        replace(&path).unwrap();
        prop_assert_eq!(read(&File::open(&path).unwrap()).unwrap(), before);
        prop_assert_eq!(fs::metadata(&path).unwrap().mode(), mode);
    }
}
