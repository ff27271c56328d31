//! A tree to look for instruction files in.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

/// Folders of the repository that must not be looked into: those that INS-1 names, and somebody else's repository.
pub(super) const CLOSED: [&str; 4] = [".git", "node_modules", "target", NESTED];
const NESTED: &str = "somebody-elses";

/// What a repository has where it may be looked into.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Made {
    pub(super) files: usize,
    pub(super) folders: usize,
    pub(super) instructions: usize,
    /// Others' repositories in it.
    pub(super) repositories: usize,
}

/// Fewer than a catalog has room for.
const INSTRUCTIONS: usize = 190;
/// Of the repository's own files.
const FILES: usize = 100_000;
/// Folders beside one another, each with folders of their own.
const WIDE: usize = 300;
const INNER: usize = 10;
const DEEP: usize = 200;

/// A repository of 100,000 files: folders side by side, a chain of folders, and a few that are full of files. What must not be
/// looked into has as many again.
pub(super) fn repository(root: &Path) -> io::Result<Made> {
    let mut made = Made { folders: 1, repositories: 1, ..Made::default() };
    for outer in 0..WIDE {
        let folder = root.join(format!("crates/part-{outer:03}"));
        for inner in 0..INNER {
            fill(&folder.join(format!("src-{inner}")), 20, &mut made)?;
        }
        made.folders += 1;
        // A loop: to look through it would never end.
        symlink(root, folder.join("root"))?;
        symlink("..", folder.join("up"))?;
    }
    made.folders += 1;
    let mut deep = root.to_owned();
    for level in 0..DEEP {
        deep.push(format!("d{level:03}"));
        fill(&deep, 20, &mut made)?;
    }
    made.folders += 1;
    while made.files < FILES {
        let folder = root.join(format!("data/set-{:05}", made.files));
        fill(&folder, (FILES - made.files).min(900), &mut made)?;
    }
    symlink("AGENTS.md", root.join("AGENTS.md"))?;
    closed(root)?;
    Ok(made)
}

/// A folder with files, some of them for the agent.
fn fill(folder: &Path, files: usize, made: &mut Made) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    made.folders += 1;
    for file in 0..files {
        let instructs = file == 0 && made.instructions < INSTRUCTIONS && made.folders.is_multiple_of(15);
        if instructs {
            made.instructions += 1;
            fs::write(folder.join("AGENTS.md"), "---\ndescription: what holds here\n---\nTabs, not spaces.\n")?;
        } else {
            fs::write(folder.join(format!("file-{file:03}.rs")), "fn main() {}\n")?;
        }
    }
    made.files += files;
    Ok(())
}

fn closed(root: &Path) -> io::Result<()> {
    let mut nothing = Made::default();
    for package in 0..2_000 {
        fill(&root.join(format!("node_modules/package-{package:04}/lib")), 20, &mut nothing)?;
    }
    for unit in 0..200 {
        fill(&root.join(format!("target/debug/unit-{unit:03}")), 300, &mut nothing)?;
    }
    fs::create_dir_all(root.join(".git/objects"))?;
    fs::create_dir_all(root.join(NESTED).join(".git"))?;
    for part in 0..50 {
        fill(&root.join(NESTED).join(format!("part-{part:02}")), 20, &mut nothing)?;
    }
    Ok(())
}
