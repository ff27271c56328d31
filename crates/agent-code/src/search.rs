//! `code.search` (COD-4): ripgrep's engine as a library, so that no query is ever an option and no program is started.

mod collect;
mod file;
mod pass;
mod query;
mod stop;

use std::{
    path::Path,
    time::{Duration, Instant},
};

use agent_policy::{Access, Facts};
use agent_protocol::{ArtifactId, ErrorPayload, Permission};
use agent_tool::{CallContext, Prepared, ToolOutput};
use ignore::overrides::{Override, OverrideBuilder};
use rustix::fs::fstat;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    fail,
    overflow::{Listing, fitted},
    place::{Folder, Found, OpenFile},
    second_names::SecondNames,
    tool::{CodeTool, blocking_call},
    traverse::IgnoreFiles,
    workspace::Workspace,
};
use collect::{Collector, Counts, State};
use file::{FileSearch, Hit};
use pass::{Pass, Passed, search_named};
use query::Query;
use stop::Stop;

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
}

impl Listing for Matches {
    fn noun(&self) -> &'static str {
        "match"
    }

    fn len(&self) -> usize {
        self.matches.len()
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
        let (place, stat) = match self.0.find(requested)? {
            Found::Folder(folder) => {
                let stat = fstat(folder.fd()).map_err(|error| fail::os("look at", requested, &error.into()))?;
                (Place::Folder { named: folder.path() != self.0.project(), folder }, stat)
            }
            _ => {
                let file = self.0.open_file(requested)?;
                let stat = file.stat;
                (Place::File(file), stat)
            }
        };
        let names = SecondNames::near(&self.0, place.near());
        let target = names.target(requested, place.path(), Access::Search, &stat);
        let glob = input.glob.as_deref().filter(|glob| !glob.is_empty()).map(glob).transpose()?;
        let preview = format!("search {requested} for {}", input.query);
        let facts = Facts { targets: vec![target], preview, ..Facts::default() };
        let searching = Searching { workspace: self.0.clone(), names, place, glob, query, text: input.query, context };
        let limit = input.limit.unwrap_or(DEFAULT_LIMIT);
        Ok(Prepared { facts, call: blocking_call(move || searching.run(limit)) })
    }
}

/// Globs of people: `!` excludes, without a slash they match at any depth, with one from the folder that is searched. A leading
/// `./` means nothing, and what names a folder means what is in it.
fn glob(glob: &str) -> Result<Override, ErrorPayload> {
    let (sign, rest) = glob.strip_prefix('!').map_or(("", glob), |rest| ("!", rest));
    let rest = rest.strip_prefix("./").unwrap_or(rest);
    let content = format!("{sign}{}/**", rest.trim_end_matches('/'));
    let mut builder = OverrideBuilder::new("");
    let itself = if rest.ends_with('/') { Ok(&mut builder) } else { builder.add(&format!("{sign}{rest}")) };
    itself
        .and_then(|builder| builder.add(&content))
        .and_then(|builder| builder.build())
        .map_err(|error| fail::invalid(format!("the glob cannot be used: {error}")))
}

struct Searching {
    workspace: Workspace,
    names: SecondNames,
    place: Place,
    glob: Option<Override>,
    query: Query,
    text: String,
    context: CallContext,
}

/// A search as far as it got.
struct Searched {
    passed: Passed,
    notes: Vec<String>,
}

impl Searching {
    fn run(self, limit: usize) -> Result<ToolOutput, ErrorPayload> {
        let Searched { passed: Passed { state, sensitive }, mut notes } = match &self.place {
            Place::File(file) => self.file(file, limit),
            Place::Folder { folder, named } => self.folder(folder, *named, limit)?,
        };
        fail::unless_cancelled(&self.context.cancel)?;
        notes.extend(skipped(state.counts, sensitive + state.counts.second_names));
        notes.extend(self.names.note().map(str::to_owned));
        let note = (!notes.is_empty()).then(|| notes.join("; "));
        let truncated = state.overflow;
        let matches = Matches { matches: state.into_hits(), truncated, artifact_id: None, note };
        fitted(matches, "matches.json", &self.workspace.settings().limits, &self.context)
    }

    fn stop(&self, deadline: Option<Instant>) -> Stop {
        Stop { cancel: self.context.cancel.clone(), deadline }
    }

    /// A file that was named is searched, whatever any rule says.
    fn file(&self, file: &OpenFile, limit: usize) -> Searched {
        let shown = self.workspace.show(file.path());
        let look = |query: &Query| {
            let collector = Collector::new(limit);
            let mut search = FileSearch::new(query.matcher.clone(), limit + 1);
            collector.add(file.path(), search_named(file, &shown, &mut search, &self.stop(None)));
            Passed { state: collector.finish(), sensitive: 0 }
        };
        self.or_as_text(look(&self.query), |query| {
            use std::io::{Seek, SeekFrom};
            (&file.file).seek(SeekFrom::Start(0)).ok().map(|_| look(query))
        })
    }

    fn folder(&self, folder: &Folder, named: bool, limit: usize) -> Result<Searched, ErrorPayload> {
        let shown = || self.workspace.show(folder.path());
        folder
            .has_not_moved()
            .map_err(|error| fail::conflict(&shown(), format!("cannot search {}: {error}", shown())))?;
        let pass = |query: &Query, ignore| self.pass(folder, query, ignore, limit);
        let mut ignore = IgnoreFiles::Respected;
        let mut first = pass(&self.query, ignore);
        let seen = first.state.counts;
        // A folder that was named is meant, even if rules above it leave nothing of it (SRCH-02).
        if named && seen.searched + seen.binary == 0 {
            ignore = IgnoreFiles::FromHere;
            first = pass(&self.query, ignore);
        }
        let mut searched = self.or_as_text(first, |query| Some(pass(query, ignore)));
        if searched.passed.state.is_empty() && !self.context.cancel.is_cancelled() {
            self.second_look(folder, &mut searched);
        }
        Ok(searched)
    }

    fn pass(&self, folder: &Folder, query: &Query, ignore: IgnoreFiles, limit: usize) -> Passed {
        let pass = Pass {
            workspace: &self.workspace,
            names: &self.names,
            folder,
            glob: self.glob.as_ref(),
            query,
            ignore,
            limit,
            stop: self.stop(None),
            known: None,
        };
        pass.run()
    }

    /// A query that finds nothing as a regular expression may have been meant as text (SRCH-09).
    fn or_as_text(&self, first: Passed, again: impl FnOnce(&Query) -> Option<Passed>) -> Searched {
        let mut notes: Vec<String> = self.query.note.iter().cloned().collect();
        let worthwhile = first.state.is_empty() && self.query.note.is_none() && Query::is_more_than_text(&self.text);
        if worthwhile
            && !self.context.cancel.is_cancelled()
            && let Ok(query) = Query::literal(&self.text)
            && let Some(second) = again(&query)
            && !second.state.is_empty()
        {
            notes.push("no match as a regular expression; these are matches as plain text".to_owned());
            return Searched { passed: second, notes };
        }
        Searched { passed: first, notes }
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
            glob: self.glob.as_ref(),
            query: &self.query,
            ignore: IgnoreFiles::None,
            limit: MOST,
            stop: self.stop(Some(Instant::now() + SECOND_LOOK)),
            known: known.as_ref(),
        };
        let second = pass.run();
        let (overflow, stopped) = (second.state.overflow, second.state.stopped);
        let looked_at = |counts: &Counts| counts.searched + counts.binary + counts.too_big + counts.unreadable;
        let matched = looked_at(&searched.passed.state.counts)
            + looked_at(&second.state.counts)
            + searched.passed.sensitive
            + second.sensitive;
        let hits = second.state.into_hits();
        let more = if overflow || stopped { "at least " } else { "" };
        match hits.first() {
            Some(first) => searched.notes.push(format!(
                "no matches, but {more}{} in ignored files, such as {}; name the path to search there",
                hits.len(),
                first.path
            )),
            None if matched == 0 && self.glob.is_some() && !stopped => {
                searched.notes.push("nothing was searched: no file matches the glob".to_owned());
            }
            None if stopped => searched.notes.push("no matches; ignored files were not searched completely".to_owned()),
            None => searched.notes.push("no matches, in ignored files neither".to_owned()),
        }
        searched.passed.sensitive = searched.passed.sensitive.max(second.sensitive);
    }
}

impl State {
    fn is_empty(&self) -> bool {
        self.hit_count() == 0
    }
}

/// What was not searched, in words.
fn skipped(counts: Counts, sensitive: u64) -> Option<String> {
    let kinds = [
        (counts.binary, "binary"),
        (counts.too_big, "too big unless named"),
        (counts.unreadable, "unreadable"),
        (sensitive, "sensitive"),
    ];
    let listed: Vec<String> =
        kinds.iter().filter(|(count, _)| *count > 0).map(|(count, kind)| format!("{count} {kind}")).collect();
    (!listed.is_empty()).then(|| format!("not searched: {}", listed.join(", ")))
}

#[cfg(test)]
mod tests;
