//! One folder.

use std::{
    collections::BinaryHeap,
    ffi::{OsStr, OsString},
    io,
    os::unix::ffi::OsStrExt,
};

use agent_protocol::{ErrorPayload, shown_path};
use rustix::fs::{FileType, Stat};
use tokio_util::sync::CancellationToken;

use super::entry::{Entry, Pass};
use crate::{fail, place::Folder};

/// The first `limit` entries by name. Memory grows with the limit, not with the folder.
pub(super) fn list(folder: &Folder, limit: usize, cancel: &CancellationToken) -> Result<Pass, ErrorPayload> {
    let failed = |error: io::Error| fail::os("list", &shown_path(folder.path()), &error);
    let mut first: BinaryHeap<OsString> = BinaryHeap::with_capacity(limit.min(1024));
    let mut total = 0u64;
    for entry in folder.entries().map_err(failed)? {
        let entry = entry.map_err(|error| failed(error.into()))?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        fail::unless_cancelled(cancel)?;
        total += 1;
        first.push(name.to_owned());
        if first.len() > limit {
            first.pop();
        }
    }
    // One that is gone by now is left out.
    let entries: Vec<Entry> = first
        .into_sorted_vec()
        .iter()
        .filter_map(|name| Some(entry(name, &folder.stat(name).ok().flatten()?)))
        .collect();
    Ok(Pass { truncated: total > limit as u64, entries, total: Some(total), ..Pass::default() })
}

pub(super) fn entry(path: &OsStr, stat: &Stat) -> Entry {
    let (kind, size) = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => ("file", u64::try_from(stat.st_size).ok()),
        FileType::Directory => ("dir", None),
        FileType::Symlink => ("symlink", None),
        _ => ("special", None),
    };
    Entry { path: shown_path(path).into_owned(), kind, size, unreadable: false }
}
