//! Which folder a path lies in, and whether it is sensitive, under control or protected.

mod error;
mod fold;
mod pattern;
mod places;
mod tables;
mod why;
pub(crate) mod words;

use std::{
    borrow::Cow,
    path::{Path, PathBuf},
};

use agent_protocol::shown_path;
use agent_redact::quote_name;
pub use error::RulesError;
use fold::{bare_path, covers, fold_path, original_of, spellings};
use pattern::PatternSet;
use places::is_resolved;
pub use places::{Places, Root};
pub use why::Why;

/// What the words for a sensitive path say.
const SECRETS: &str = "may hold secrets";

/// Everything that is known about paths. All questions take absolute, resolved paths and answer by their letters alone:
/// resolving, and opening the very file that was judged, is the caller's part (COD-1).
#[derive(Debug, Clone)]
pub struct PathRules {
    places: Places,
    sensitive: PatternSet,
    /// What sensitive anchors really are, where they are links; folded.
    real: Vec<(String, Why)>,
    anchors: Vec<PathBuf>,
    control: PatternSet,
    ours: PatternSet,
    protected: Vec<(String, Why)>,
    home: (String, Why),
}

impl PathRules {
    /// Compiles the rules; `sensitive` is the configurable list (`tools.sensitive_paths`), to which the fixed one is added.
    ///
    /// # Errors
    /// When a place is not absolute and normalised, or a pattern could never match or is no glob. A pattern is never
    /// dropped in silence.
    pub fn new(places: Places, sensitive: &[String]) -> Result<Self, RulesError> {
        let places = places.checked()?;
        let written = || sensitive.iter().map(String::as_str).chain(tables::ALWAYS_SENSITIVE.iter().copied());
        let mut patterns = Vec::new();
        for pattern in written() {
            patterns.push((pattern::parse(pattern, &places)?, Why::new(pattern, SECRETS)));
        }
        let database = format!("{}*", pattern::quoted(&places.session_db));
        patterns.push((pattern::Pattern::Path(database.clone()), Why::new("session database", SECRETS)));
        let sessions = pattern::quoted(&places.sessions_dir);
        patterns.push((pattern::Pattern::Path(sessions), Why::new("sessions folder", SECRETS)));
        let mut anchors: Vec<PathBuf> = Vec::new();
        for pattern in written() {
            let anchor = pattern::anchor(pattern, &places).or_else(|| pattern::usual_place(pattern, &places));
            anchors.extend(anchor.filter(|anchor| !anchors.contains(anchor)));
        }
        Ok(Self {
            anchors,
            sensitive: PatternSet::new(patterns)?,
            real: Vec::new(),
            control: control(tables::CONTROL, &places)?,
            ours: control(&[tables::OURS], &places)?,
            protected: places.protected(),
            home: (fold_path(&places.home), Why::new(shown_path(&places.home), "belongs to soong-agent itself")),
            places,
        })
    }

    /// The places the rules were made for.
    #[must_use]
    pub fn places(&self) -> &Places {
        &self.places
    }

    /// The sensitive paths that are written out in full, such as `~/.ssh`, and where files that are sensitive by their name
    /// usually are, such as `~/.netrc`: what a caller can look up on disk, to find where they really are
    /// ([`PathRules::also_at`]) and which files have a second name there ([`Target::aliases`]).
    ///
    /// [`Target::aliases`]: crate::Target::aliases
    #[must_use]
    pub fn anchors(&self) -> &[PathBuf] {
        &self.anchors
    }

    /// Adds where one of the [`anchors`](Self::anchors) really is, when it is a link: a resolved path never goes through
    /// the link, so that the pattern alone would miss it.
    pub fn also_at(&mut self, anchor: &Path, real: &Path) {
        let why = Why::new(shown_path(anchor), SECRETS);
        self.real.push((fold_path(real), why));
    }

    /// Which folder a path lies in. By whole components and exact letters; anything relative or with `..` is outside.
    ///
    /// Our home comes first, even inside the project (PATH-09), then the project, the write roots in their order, and the
    /// temporary folder.
    #[must_use]
    pub fn root_of(&self, path: &Path) -> Root {
        if !is_resolved(path) {
            return Root::Outside;
        }
        if self.in_home(path) { Root::Home } else { self.places.root_of(path) }
    }

    /// Whether commands may start in this folder: the project, a write root or the temporary folder (COD-11). Unlike for
    /// writes it does not matter whether our home is around or in it: commands are asked for anyway.
    #[must_use]
    pub fn may_run_in(&self, folder: &Path) -> bool {
        is_resolved(folder) && self.places.root_of(folder) != Root::Outside
    }

    /// Whether the path, or a folder it is in, may hold secrets (PRM-2, PRM-10).
    #[must_use]
    pub fn sensitive(&self, path: &Path) -> Option<&Why> {
        let judge = |path: &str| self.sensitive.covering(path, 0).or_else(|| self.sensitive_by_link(path));
        spellings(path).find_map(|path| judge(&path).or_else(|| judge(&original_of(&path)?)))
    }

    /// [`sensitive`](Self::sensitive) for an entry of a folder that is known not to be sensitive: what a recursive walk
    /// asks of each entry.
    #[must_use]
    pub fn sensitive_entry(&self, path: &Path) -> Option<&Why> {
        let judge = |path: &str| self.sensitive.matching(path).or_else(|| self.sensitive_by_link(path));
        spellings(path).find_map(|path| judge(&path).or_else(|| judge(&original_of(&path)?)))
    }

    fn sensitive_by_link(&self, path: &str) -> Option<&Why> {
        self.real.iter().find(|(real, _)| covers(real, path)).map(|(_, why)| why)
    }

    /// Whether other programs obey the file, so that a write to it is asked for by itself (COD-8).
    ///
    /// Only what lies below the root counts: a project in somebody's `.claude/worktrees` is an ordinary project.
    #[must_use]
    pub fn control(&self, path: &Path) -> Option<&Why> {
        self.control_as(path, fold_path).or_else(|| self.control_as(path, bare_path))
    }

    fn control_as(&self, path: &Path, spell: fn(&Path) -> String) -> Option<&Why> {
        let below = self.places.root_path(path).map_or(0, |root| spell(root).len());
        // Our folder in a project is under control but for the plans in it; what is nested in the plans is not ours.
        let below_plans = self.plans_in_ours(path).map_or(below, |plans| spell(plans).len());
        let path = spell(path);
        self.control.covering(&path, below).or_else(|| self.ours.covering(&path, below.max(below_plans)))
    }

    /// Whether code tools may never write there, whatever anybody answers: our home, the session database, the task
    /// journal and the memory, even inside the project (COD-8, COD-13). `<project>/.soong-agent/plans` stays writable,
    /// even when the project is the folder our home is in.
    #[must_use]
    pub fn forbidden_write(&self, path: &Path) -> Option<&Why> {
        let protected = |path: String| self.protected.iter().find(|(base, _)| covers(base, &path)).map(|(_, why)| why);
        spellings(path).find_map(protected).or_else(|| self.in_home(path).then_some(&self.home.1))
    }

    fn in_home(&self, path: &Path) -> bool {
        let plans = self.places.standard_plans();
        spellings(path).any(|path| covers(&self.home.0, &path))
            && !plans.is_some_and(|plans| is_resolved(path) && path.starts_with(plans))
    }

    /// The plans folder, if it lies strictly below a `.soong-agent` and the path lies in it.
    fn plans_in_ours(&self, path: &Path) -> Option<&Path> {
        let plans = self.places.plans_dir.as_path();
        let ours = plans.parent()?.components().any(|part| part.as_os_str() == tables::OURS.0);
        (ours && is_resolved(path) && path.starts_with(plans)).then_some(plans)
    }

    /// A path as people read it: relative to the project where it lies in it, bytes as [`shown_path`] writes them, escaped, and quoted where it could be taken
    /// for other words of a sentence.
    #[must_use]
    pub fn show(&self, path: &Path) -> String {
        quote_name(&self.relative(path))
    }

    /// The same of a folder, with a slash at its end.
    pub(crate) fn show_folder(&self, folder: &Path) -> String {
        let shown = self.relative(folder);
        let slash = if shown.ends_with('/') { "" } else { "/" };
        quote_name(&format!("{shown}{slash}"))
    }

    fn relative<'p>(&self, path: &'p Path) -> Cow<'p, str> {
        let shown = match path.strip_prefix(&self.places.project) {
            Ok(rest) if rest.as_os_str().is_empty() => Path::new("."),
            Ok(rest) => rest,
            Err(_) => path,
        };
        shown_path(shown)
    }
}

fn control(table: &[(&str, &str)], places: &Places) -> Result<PatternSet, RulesError> {
    let rule = |(pattern, because): &(&str, &str)| Ok((pattern::parse(pattern, places)?, Why::new(*pattern, because)));
    PatternSet::new(table.iter().map(rule).collect::<Result<_, RulesError>>()?)
}

#[cfg(test)]
mod tests;
