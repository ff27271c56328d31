//! Who holds the lock of a file, as far as the operating system tells.

use std::fs::File;
use std::os::unix::fs::MetadataExt;

/// The process that holds a lock on this file. Linux lists locks in `/proc/locks`; elsewhere, or where it cannot be read, nobody is
/// named.
pub(crate) fn pid(file: &File) -> Option<u32> {
    let inode = file.metadata().ok()?.ino();
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    find(&locks, inode)
}

/// A line is `1: FLOCK  ADVISORY  WRITE 4711 08:01:131 0 EOF`: the process, then device and inode. The device is not compared: on
/// some file systems it is another one here than a file says of itself.
fn find(locks: &str, inode: u64) -> Option<u32> {
    locks.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let at = fields.iter().position(|field| *field == "FLOCK")?;
        let place = fields.get(at + 4)?;
        let same = place.rsplit(':').next()?.parse() == Ok(inode);
        if same { fields.get(at + 3)?.parse().ok() } else { None }
    })
}

#[cfg(test)]
mod tests {
    use super::find;

    /// WAL-3: the holder is named.
    #[test]
    fn the_holder_is_found_by_its_inode() {
        let locks = "1: POSIX  ADVISORY  READ 11 08:01:7 0 EOF\n2: FLOCK  ADVISORY  WRITE 4711 08:01:131 0 EOF\n\
                     2: -> FLOCK  ADVISORY  WRITE 12 08:01:131 0 EOF\n";
        assert_eq!(find(locks, 131), Some(4711));
        assert_eq!(find(locks, 7), None);
        assert_eq!(find("", 7), None);
        assert_eq!(find("FLOCK", 7), None);
    }
}
