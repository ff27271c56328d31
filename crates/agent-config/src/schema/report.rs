//! Collects every problem of one pass, with its place.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::key::join;
use crate::nearest::nearest;
use crate::problem::{ConfigProblems, Position, Problem, ProblemKind};
use crate::tree::{Entry, Node, Span, SyntaxError, Value};

/// How many problems are kept; the rest is counted.
pub const MAX_PROBLEMS: usize = 100;

/// Keys that people write and that are not there for a reason: the table they are looked for in (any below it, too), the
/// key, and what to do instead.
const MISTAKEN: &[(&str, &str, &str)] = &[
    (
        "agents.worker_pools",
        "count",
        "pools are explicit lists: write one [[agents.worker_pools.workers]] for each worker",
    ),
    ("", "api_key", "secrets are named, never stored: api_key_env = \"NAME\" names an environment variable"),
];

/// The problems found so far, and where each key stood.
pub(crate) struct Report {
    problems: Vec<Problem>,
    more: usize,
    /// Where each key's value stood, by full key.
    places: BTreeMap<String, Range<usize>>,
    /// Offsets at which lines begin.
    lines: Vec<usize>,
    text: String,
}

impl Report {
    /// A report about `text`, which gives problems their line and column. JSON has none: pass an empty text.
    pub(crate) fn new(text: &str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self {
            problems: Vec::new(),
            more: 0,
            places: BTreeMap::new(),
            lines: std::iter::once(0).chain(breaks.map(|(at, _)| at + 1)).collect(),
            text: text.to_owned(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.problems.is_empty()
    }

    /// True if all that stands at `key` and below it could be read. Conflicts do not count: their values are the user's.
    pub(crate) fn is_clean(&self, key: &str) -> bool {
        let below =
            |found: &str| found.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
        !self.problems.iter().any(|problem| problem.kind != ProblemKind::Conflict && below(&problem.key))
    }

    /// The members of a table, or a problem.
    pub(crate) fn entries<'n>(&mut self, node: &'n Node, at: &str) -> Option<&'n [Entry]> {
        match &node.value {
            Value::Table(entries) => Some(entries),
            _ => {
                let header = if at.ends_with(']') { String::new() } else { format!(" ([{at}])") };
                self.wrong_value(node, at, format!("a table{header}"));
                None
            }
        }
    }

    /// Remembers where a member stands and gives its full key.
    pub(crate) fn enter(&mut self, at: &str, entry: &Entry) -> String {
        let here = join(at, &entry.key);
        self.place(&here, &entry.node.span);
        here
    }

    /// Remembers where an element stands and gives its full key.
    pub(crate) fn enter_item(&mut self, at: &str, index: usize, item: &Node) -> String {
        let here = format!("{at}[{index}]");
        self.place(&here, &item.span);
        here
    }

    fn place(&mut self, key: &str, span: &Span) {
        if let Some(span) = span {
            self.places.insert(key.to_owned(), span.clone());
        }
    }

    pub(crate) fn wrong_value(&mut self, node: &Node, at: &str, expected: String) {
        let found = format!("found {}", node.value.describe());
        self.push(ProblemKind::Value, at, &node.span, found, Some(expected));
    }

    /// As [`wrong_value`](Self::wrong_value), with words in place of the value.
    pub(crate) fn wrong_value_said(&mut self, node: &Node, at: &str, expected: String, found: &str) {
        self.push(ProblemKind::Value, at, &node.span, format!("found {found}"), Some(expected));
    }

    /// A name of the user's own that is none.
    pub(crate) fn wrong_name(&mut self, here: &str, entry: &Entry, expected: &str, found: Option<&str>) {
        let found = match found {
            Some(words) => format!("found {words} as its name"),
            None => format!("found the name {}", crate::tree::quoted(&entry.key)),
        };
        self.push(ProblemKind::Value, here, &entry.key_span, found, Some(expected.to_owned()));
    }

    /// A key that is none of `known`, which lie below `at`.
    pub(crate) fn unknown_key(&mut self, at: &str, entry: &Entry, known: &[&str]) {
        if self.problems.len() == MAX_PROBLEMS {
            self.more += 1;
            return;
        }
        let here = join(at, &entry.key);
        let mistaken = MISTAKEN.iter().find(|(table, key, _)| at.starts_with(table) && *key == entry.key);
        let advice = mistaken.map(|(_, _, advice)| (*advice).to_owned());
        self.push(ProblemKind::UnknownKey, &here, &entry.key_span, "unknown key".to_owned(), advice);
        if let Some(problem) = self.problems.last_mut() {
            problem.nearest = nearest(&entry.key, known.iter().copied()).map(|near| join(at, near));
        }
    }

    /// A problem unless `key` is among `entries`.
    pub(crate) fn require(&mut self, node: &Node, entries: &[Entry], at: &str, key: &str, kind: &str) {
        if !entries.iter().any(|entry| entry.key == key) {
            let here = join(at, key);
            let expected = Some(format!("it must be there and hold {kind}"));
            self.push(ProblemKind::MissingKey, &here, &node.span, "missing key".to_owned(), expected);
        }
    }

    /// Values that do not go together. It stands where `key` does, or else the table that would hold it.
    pub(crate) fn conflict(&mut self, key: &str, expected: impl Into<String>, found: impl Into<String>) {
        let span = self.nearest_place(key);
        self.push(ProblemKind::Conflict, key, &span, found.into(), Some(expected.into()));
    }

    pub(crate) fn empty(&mut self) {
        let wrong = "the configuration is empty".to_owned();
        let expected =
            "an empty one does not stand for the defaults, since it may be the rest of a failed write".to_owned();
        self.push(ProblemKind::Empty, "", &Some(0..0), wrong, Some(expected));
    }

    /// Syntax errors, the first of each line.
    pub(crate) fn syntax(&mut self, errors: Vec<SyntaxError>) {
        let mut lines = BTreeSet::new();
        for error in errors {
            if !lines.insert(self.line(error.offset)) {
                continue;
            }
            let wrong = format!("this is not TOML: {}", error.wrong);
            let expected = error.expected.map(|expected| format!("expected {expected}"));
            let span = Some(error.offset..error.offset);
            self.push(ProblemKind::Syntax, "", &span, wrong, expected);
        }
    }

    /// Drops what the walk said about lines that could not be read: it saw a parser's guess there. Behind a torn table
    /// header that is everything up to the next one. A missing key may be on a torn line.
    pub(crate) fn trust_syntax_over_walk(&mut self) {
        let line = |problem: &Problem| problem.position.map_or(0, |position| position.line);
        let is_syntax = |problem: &Problem| problem.kind == ProblemKind::Syntax;
        let mut torn: BTreeSet<usize> = self.problems.iter().filter(|p| is_syntax(p)).map(line).collect();
        let mut lost = false;
        for (number, text) in (1..).zip(self.text.split('\n')) {
            if text.trim_start().starts_with('[') {
                lost = torn.contains(&number);
            } else if lost {
                torn.insert(number);
            }
        }
        self.problems.retain(|problem| {
            is_syntax(problem) || (problem.kind != ProblemKind::MissingKey && !torn.contains(&line(problem)))
        });
    }

    /// Names, for unknown keys without a near one, the only key of the same name in another section. Entries of lists are
    /// another matter: what is written there was meant for there.
    pub(crate) fn look_elsewhere<'k>(&mut self, keys: impl Iterator<Item = &'k str> + Clone) {
        let last = |key: &str| key.rsplit('.').next().map(str::to_owned);
        for problem in &mut self.problems {
            let stray = problem.kind == ProblemKind::UnknownKey && !problem.key.contains('[');
            if stray && problem.nearest.is_none() {
                let mut same = keys.clone().filter(|key| last(key) == last(&problem.key));
                problem.nearest = same.next().filter(|_| same.next().is_none()).map(str::to_owned);
            }
        }
    }

    /// The outcome: all problems in the order of the text.
    pub(crate) fn into_problems(mut self, file: &str) -> Result<(), ConfigProblems> {
        if self.problems.is_empty() {
            return Ok(());
        }
        self.problems.sort_by_key(|problem| problem.position);
        Err(ConfigProblems::new(file.to_owned(), self.problems, self.more))
    }

    fn push(&mut self, kind: ProblemKind, key: &str, span: &Span, wrong: String, expected: Option<String>) {
        if self.problems.len() == MAX_PROBLEMS {
            self.more += 1;
            return;
        }
        self.problems.push(Problem {
            kind,
            key: key.to_owned(),
            position: span.as_ref().map(|span| self.position(span.start)),
            wrong,
            expected,
            nearest: None,
        });
    }

    fn nearest_place(&self, key: &str) -> Span {
        let mut key = key;
        loop {
            if let Some(place) = self.places.get(key) {
                return Some(place.clone());
            }
            key = &key[..key.rfind(['.', '['])?];
        }
    }

    /// From 0.
    fn line(&self, offset: usize) -> usize {
        self.lines.partition_point(|start| *start <= offset).saturating_sub(1)
    }

    fn position(&self, offset: usize) -> Position {
        let line = self.line(offset);
        let start = self.lines.get(line).copied().unwrap_or(0);
        let before = self.text.get(start..offset).unwrap_or("");
        Position { line: line + 1, column: before.chars().count() + 1 }
    }
}
