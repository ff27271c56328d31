//! `code.search` (COD-4): ripgrep's engine as a library, so that no query is ever an option and no program is started.

mod collect;
mod file;
mod glob;
mod notes;
mod pass;
mod query;
mod stop;
mod survey;

use std::{
    path::Path,
    time::{Duration, Instant},
};

use agent_policy::{Access, Facts};
use agent_protocol::{ArtifactId, ErrorPayload, Permission};
use agent_redact::quote_argv;
use agent_tool::{CallContext, Prepared, ToolOutput};
use ignore::overrides::Override;
use rustix::fs::fstat;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    artifact, fail,
    overflow::{Listing, fitted},
    path_notes,
    place::{Folder, Found, OpenFile},
    second_names::SecondNames,
    tool::{self, CodeTool, blocking_call},
    traverse::IgnoreFiles,
    workspace::Workspace,
};
use collect::{Collector, Counts, State};
use file::{FileSearch, Hit, MAX_NAMED_LINE};
use pass::{Pass, Passed, search_named};
use query::Query;
use stop::Stop;
use survey::survey;

/// Matching lines when nothing else is asked for.
const DEFAULT_LIMIT: usize = 100;
/// How long ignored files are looked through when nothing was found in the others.
const SECOND_LOOK: Duration = Duration::from_millis(200);

/// Searches file contents, line by line, by Rust regex (no lookaround); invalid ones are searched as text. Ignored and
/// binary files are skipped.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    query: String,
    /// File or folder; default the project.
    path: Option<String>,
    /// Such as *.rs, src/**, !*.md
    glob: Option<String>,
    /// Matching lines, default 100.
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<usize>,
}

/// The result, in the contract's words.
#[derive(Debug, Serialize)]
struct Matches {
    matches: Vec<Hit>,
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    artifact_id: Option<ArtifactId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// Why there are no matches, for people.
    #[serde(skip)]
    nothing: Option<String>,
}

impl Listing for Matches {
    fn noun(&self) -> &'static str {
        "match"
    }

    fn len(&self) -> usize {
        self.matches.len()
    }

    fn summary(&self) -> Option<String> {
        let matches = tool::counted(self.matches.len(), self.noun());
        let more = if self.truncated { ", more follow" } else { "" };
        Some(self.nothing.clone().unwrap_or_else(|| format!("{matches}{more}")))
    }

    fn cut(&mut self, len: usize, artifact: Option<&ArtifactId>) {
        self.matches.truncate(len);
        self.truncated = true;
        self.artifact_id = artifact.cloned();
    }
}

pub(crate) struct Search(pub(crate) Workspace);

/// Where to search; what it is stays open until the call runs.
enum Place {
    Folder { folder: Folder, named: bool },
    File(OpenFile),
}

impl Place {
    fn path(&self) -> &Path {
        match self {
            Self::Folder { folder, .. } => folder.path(),
            Self::File(file) => file.path(),
        }
    }

    /// The folder that all of it is in.
    fn near(&self) -> &Path {
        match self {
            Self::Folder { folder, .. } => folder.path(),
            Self::File(file) => file.path().parent().unwrap_or(file.path()),
        }
    }
}

impl CodeTool for Search {
    type Input = Input;
    const NAME: &'static str = "code.search";
    const PERMISSION: Permission = Permission::Readonly;
    const TAGS: &'static [&'static str] = &["code", "filesystem", "readonly"];

    fn prepare(&self, input: Input, context: CallContext) -> Result<Prepared, ErrorPayload> {
        let query = Query::parse(&input.query)?;
        let requested = input.path.as_deref().unwrap_or(".");
        let path = artifact::real_path(&self.0, &context.session_id, requested);
        let (place, stat) = match self.0.find(&path)? {
            Found::Folder(folder) => {
                let stat = fstat(folder.fd()).map_err(|error| fail::os("look at", requested, &error.into()))?;
                (Place::Folder { named: folder.path() != self.0.project(), folder }, stat)
            }
            Found::Missing { .. } if requested.contains(['*', '?', '[', '{']) => return Err(glob_as_path(requested)),
            _ => {
                let file = self.0.open_file(&path)?;
                let stat = file.stat;
                (Place::File(file), stat)
            }
        };
        let names = SecondNames::near(&self.0, place.near());
        let target = names.target(requested, place.path(), Access::Search, &stat);
        let glob = input.glob.filter(|glob| !glob.is_empty());
        let files = glob.as_deref().map(glob::parse).transpose()?;
        let among = glob.as_deref().map_or_else(String::new, |glob| format!(", files {}", quoted(glob)));
        let facts = Facts {
            targets: vec![target],
            preview: format!("search {requested} for {}{among}", input.query),
            line: Some(format!("{} in {}{among}", quoted(&input.query), quoted(requested))),
            session: Some(context.session_id.clone()),
            ..Facts::default()
        };
        let (workspace, text) = (self.0.clone(), input.query);
        let searching = Searching { workspace, names, place, glob, files, query, text, context };
        let limit = input.limit.unwrap_or(DEFAULT_LIMIT);
        Ok(Prepared { facts, call: blocking_call(move || searching.run(limit)) })
    }
}

/// Words of the model in a line for people.
fn quoted(word: &str) -> String {
    quote_argv(&[word.to_owned()])
}

/// A path that was meant as a pattern; with the call that says so.
fn glob_as_path(requested: &str) -> ErrorPayload {
    let parts: Vec<&str> = requested.split('/').collect();
    let plain = parts.iter().take_while(|part| !part.contains(['*', '?', '[', '{'])).count();
    let (folder, glob) = (parts[..plain].join("/"), parts[plain..].join("/"));
    let folder = if folder.is_empty() { "." } else { folder.as_str() };
    let instead = serde_json::json!({"path": folder, "glob": glob});
    fail::missing(
        requested,
        format!("{requested} does not exist; path is no pattern, so give the pattern as glob: {instead}"),
    )
}

struct Searching {
    workspace: Workspace,
    names: SecondNames,
    place: Place,
    glob: Option<String>,
    /// The same, ready to match.
    files: Option<Override>,
    query: Query,
    text: String,
    context: CallContext,
}

/// A search as far as it got.
struct Searched {
    passed: Passed,
    notes: Vec<String>,
    /// Why nothing was found, for people.
    nothing: Option<String>,
}

impl Searching {
    fn run(self, limit: usize) -> Result<ToolOutput, ErrorPayload> {
        let Searched { passed, mut notes, nothing } = match &self.place {
            Place::File(file) => self.file(file, limit),
            Place::Folder { folder, named } => self.folder(folder, *named, limit)?,
        };
        fail::unless_cancelled(&self.context.cancel)?;
        notes.splice(0..0, notes::readings(&self.query, &self.text, passed.state.readings));
        notes.extend(notes::skipped(
            &passed,
            &self.context.secrets,
            &|path| self.workspace.show(&self.place.path().join(path)),
            self.is_file(),
        ));
        notes.extend(self.names.note().map(str::to_owned));
        notes.extend(path_notes::escaped(passed.state.paths()));
        notes.extend(path_notes::masked(passed.state.paths(), &self.context.secrets));
        let note = (!notes.is_empty()).then(|| notes.join("; "));
        let truncated = passed.state.overflow;
        let matches = Matches { matches: passed.state.into_hits(), truncated, artifact_id: None, note, nothing };
        fitted(matches, "matches.json", &self.workspace.settings().limits, &self.context)
    }

    fn is_file(&self) -> bool {
        matches!(self.place, Place::File(_))
    }

    fn stop(&self, deadline: Option<Instant>) -> Stop {
        Stop { cancel: self.context.cancel.clone(), deadline }
    }

    /// A file that was named is searched, whatever any rule says.
    fn file(&self, file: &OpenFile, limit: usize) -> Searched {
        let shown = self.workspace.show(file.path());
        let collector = Collector::new(limit, self.query.readings.is_some());
        let mut search = FileSearch::new(&self.query, &self.context.secrets, limit + 1, MAX_NAMED_LINE);
        collector.add(file.path(), search_named(file, &shown, &mut search, &self.stop(None)));
        Searched { passed: Passed::of(collector.finish()), notes: Vec::new(), nothing: None }
    }

    fn folder(&self, folder: &Folder, named: bool, limit: usize) -> Result<Searched, ErrorPayload> {
        let shown = || self.workspace.show(folder.path());
        folder
            .has_not_moved()
            .map_err(|error| fail::conflict(&shown(), format!("cannot search {}: {error}", shown())))?;
        let pass = |ignore| self.pass(folder, ignore, limit);
        let mut passed = pass(IgnoreFiles::Respected);
        // A folder that was named is meant, even if rules above it, or its own, leave nothing of it (SRCH-02).
        for fewer_rules in [IgnoreFiles::FromHere, IgnoreFiles::None] {
            let counts = &passed.state.counts;
            if named && passed.ignored > 0 && counts.searched + counts.binary.count == 0 {
                passed = pass(fewer_rules);
            }
        }
        let mut searched = Searched { passed, notes: Vec::new(), nothing: None };
        if searched.passed.state.is_empty() && !self.context.cancel.is_cancelled() {
            self.second_look(folder, &mut searched);
        }
        Ok(searched)
    }

    fn pass(&self, folder: &Folder, ignore: IgnoreFiles, limit: usize) -> Passed {
        let pass = Pass {
            workspace: &self.workspace,
            names: &self.names,
            folder,
            glob: self.files.as_ref(),
            query: &self.query,
            secrets: &self.context.secrets,
            ignore,
            limit,
            stop: self.stop(None),
            known: None,
        };
        pass.run()
    }

    /// Nothing was found: looks whether something is in the files that were left out, so that "no match" does not pass
    /// for "does not exist" (SRCH-02).
    fn second_look(&self, folder: &Folder, searched: &mut Searched) {
        const MOST: usize = 100;
        let known = searched.passed.state.searched.take();
        let pass = Pass {
            workspace: &self.workspace,
            names: &self.names,
            folder,
            glob: self.files.as_ref(),
            query: &self.query,
            secrets: &self.context.secrets,
            ignore: IgnoreFiles::None,
            limit: MOST,
            stop: self.stop(Some(Instant::now() + SECOND_LOOK)),
            known: known.as_ref(),
        };
        let second = pass.run();
        let (overflow, stopped) = (second.state.overflow, second.state.stopped);
        let looked_at =
            |counts: &Counts| counts.searched + counts.binary.count + counts.too_big.count + counts.unreadable.count;
        let matched = looked_at(&searched.passed.state.counts)
            + looked_at(&second.state.counts)
            + searched.passed.sensitive_files
            + second.sensitive_files;
        let hits = second.state.into_hits();
        let more = if overflow || stopped { "at least " } else { "" };
        match (hits.first(), &self.glob) {
            (Some(first), _) => {
                searched.nothing = Some(format!("0 matches, {more}{} in ignored files", hits.len()));
                searched.notes.push(format!(
                    "no matches, but {more}{} in ignored files, such as {}; name the path to search there",
                    hits.len(),
                    first.path
                ));
            }
            (None, Some(glob)) if matched == 0 && !stopped => {
                let there = survey(
                    &self.workspace,
                    folder,
                    &self.stop(Some(Instant::now() + SECOND_LOOK)),
                    &self.context.secrets,
                );
                let nothing = format!("nothing was searched: no file matches the glob {glob}");
                searched.nothing = Some(nothing.clone());
                searched.notes.push(format!("{nothing}; {there}"));
                if glob.contains(',') && !glob.contains('{') {
                    searched.notes.push(format!("several patterns are written {{{glob}}}"));
                }
            }
            (None, _) if stopped => {
                searched.notes.push("no matches; ignored files were not searched completely".to_owned());
            }
            (None, _) => searched.notes.push("no matches, in ignored files neither".to_owned()),
        }
        searched.passed.sensitive = searched.passed.sensitive.max(second.sensitive);
    }
}

impl State {
    fn is_empty(&self) -> bool {
        self.hit_count() == 0
    }
}

#[cfg(test)]
mod tests;
