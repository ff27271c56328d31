//! Skills: what the user wrote down for the model to load when it needs it, `<home>/skills/*.md` (SKL-1).
//!
//! [`SkillCatalog::scan`] lists them, [`SkillCatalog::render`] shows names and descriptions, [`SkillCatalog::load`] reads one.

use std::ffi::OsString;
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
        catalog.left_out = names.len().saturating_sub(MAX_SKILLS);
        for name in names.into_iter().take(MAX_SKILLS) {
            catalog.add(&folder, folder.join(name));
        }
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

/// The names of files that may be skills, in order.
fn names(folder: &Path) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)?.take(MAX_NAMES) {
        let name = entry?.file_name();
        if source::is_markdown(&name) {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

#[cfg(test)]
mod tests;
