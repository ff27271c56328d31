//! Skills: what the user wrote down for the model to load when it needs it, `<home>/skills/*.md` and `<home>/skills/NAME/SKILL.md`
//! (SKL-1).
//!
//! [`SkillCatalog::scan`] lists them, [`SkillCatalog::render`] shows names and descriptions, [`SkillCatalog::load`] reads one.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

mod card;
mod entry;
mod load;
mod render;

pub use crate::catalog::Rendered;
pub use entry::{SkillEntry, SkillProblem};
pub use load::{SkillBody, SkillError};

use crate::{shown, source};

/// More files than this are not looked at, by the order of their names.
const MAX_SKILLS: usize = 200;

/// More names than this are not listed.
const MAX_NAMES: usize = 10_000;

/// The name of a skill that has a folder of its own.
const IN_FOLDER: &str = "SKILL.md";

/// So many names of such a folder are looked at where that one is missing.
const MAX_INSIDE: usize = 1000;

/// So many files are named that are nearly skills.
const MAX_NEAR: usize = 20;

/// The skills there are, and what is wrong with the others.
#[derive(Debug, Clone, Default)]
pub struct SkillCatalog {
    entries: Vec<SkillEntry>,
    problems: Vec<SkillProblem>,
    left_out: usize,
}

impl SkillCatalog {
    /// Reads the frontmatter of all skills in `folder`. Blocks.
    ///
    /// Files only, hidden ones are skipped; a link counts if it leads to a regular file in the folder. A broken skill
    /// is a problem and nothing else (INST-02), and so is the second one of a name. A folder that does not exist has none.
    #[must_use]
    pub fn scan(folder: &Path) -> Self {
        let mut catalog = Self::default();
        let listed = source::real_folder(folder).and_then(|folder| Ok((names(&folder)?, folder)));
        let (names, folder) = match listed {
            Ok(listed) => listed,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return catalog,
            Err(error) => {
                catalog.problems.push(SkillProblem::of(folder, format!("cannot be listed: {error}")));
                return catalog;
            }
        };
        let Names { files, near } = names;
        catalog.left_out = files.len().saturating_sub(MAX_SKILLS);
        for name in files.into_iter().take(MAX_SKILLS) {
            catalog.add(&folder, folder.join(name));
        }
        let near = near.into_iter().take(MAX_NEAR).map(|(name, message)| SkillProblem::of(&folder.join(name), message));
        catalog.problems.extend(near);
        catalog
    }

    fn add(&mut self, folder: &Path, path: PathBuf) {
        let Some(file) = source::target(folder, &path) else {
            // Folders and pipes of such a name are nobody's skills.
            if path.is_symlink() {
                let message = "is a link that leads to no file in the folder of skills".to_owned();
                self.problems.push(SkillProblem::of(&path, message));
            }
            return;
        };
        let (entry, warning) = match card::describe(&file) {
            Ok(found) => found,
            Err(problem) => return self.problems.push(problem),
        };
        if let Some(first) = self.entries.iter().find(|known| known.name == entry.name) {
            let message = format!("`{}` is the name of {} already", entry.name, shown::path(&first.path));
            return self.problems.push(SkillProblem::of(&path, message));
        }
        self.problems.extend(warning);
        self.entries.push(entry);
    }

    /// The same without files that may not be looked at.
    #[must_use]
    pub fn without(mut self, is_hidden: &dyn Fn(&Path) -> bool) -> Self {
        self.entries.retain(|entry| !is_hidden(&entry.path));
        self
    }

    /// All skills that can be used, in the order of their files.
    #[must_use]
    pub fn entries(&self) -> &[SkillEntry] {
        &self.entries
    }

    /// What is wrong, file by file.
    #[must_use]
    pub fn problems(&self) -> &[SkillProblem] {
        &self.problems
    }

    /// Files beyond the first 200, which nobody looked at.
    #[must_use]
    pub fn left_out(&self) -> usize {
        self.left_out
    }
}

/// What lies in the folder of skills.
#[derive(Default)]
struct Names {
    /// Files that may be skills, in order.
    files: Vec<PathBuf>,
    /// What is nearly one, and why it is none.
    near: Vec<(PathBuf, String)>,
}

fn names(folder: &Path) -> io::Result<Names> {
    let mut names = Names::default();
    for entry in fs::read_dir(folder)?.take(MAX_NAMES) {
        let entry = entry?;
        let name = entry.file_name();
        let is_folder = entry.file_type().is_ok_and(|known| known.is_dir());
        if is_folder && !name.as_encoded_bytes().starts_with(b".") {
            names.folder(folder, &name);
        } else if source::is_markdown(&name) {
            names.files.push(name.into());
        } else if !is_folder && source::is_nearly_markdown(&name) {
            let message = "is not read: the name of a skill ends in .md, in small letters".to_owned();
            names.near.push((name.into(), message));
        }
    }
    names.files.sort_unstable();
    names.near.sort_unstable();
    Ok(names)
}

impl Names {
    /// A folder with a skill in it, as other products have them. One without Markdown is nobody's skill.
    fn folder(&mut self, skills: &Path, name: &OsStr) {
        let path = Path::new(name).join(IN_FOLDER);
        if skills.join(&path).symlink_metadata().is_ok() {
            return self.files.push(path);
        }
        let inside = fs::read_dir(skills.join(name)).into_iter().flatten().flatten().take(MAX_INSIDE);
        let texts = inside.map(|entry| entry.file_name());
        let texts = texts.filter(|name| source::is_markdown(name) || source::is_nearly_markdown(name));
        if let Some(text) = texts.min_by_key(|name| (!name.eq_ignore_ascii_case(IN_FOLDER), name.clone())) {
            let message = format!("is not read: in a folder, a skill is called {IN_FOLDER}, in just these letters");
            self.near.push((Path::new(name).join(text), message));
        }
    }
}

#[cfg(test)]
mod tests;
