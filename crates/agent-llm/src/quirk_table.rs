//! The table of servers' habits in `docs/design/wire-quirks.md` and the tests that show them belong together: every habit is
//! shown, and every fixture shows one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::{anthropic, ollama, openai};

/// How many habits the first table numbers.
const NUMBERED: usize = 88;

/// One row: its number, and what stands in backticks in its last column.
#[derive(Debug)]
struct Row {
    number: String,
    tests: Vec<String>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn rows() -> Vec<Row> {
    let text = std::fs::read_to_string(root().join("docs/design/wire-quirks.md")).unwrap();
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim().strip_prefix('|')?.strip_suffix('|')?.split('|').map(str::trim).collect();
        let (number, last) = (cells.first()?, cells.last()?);
        let is_row = number.starts_with(['Q', 'N']) && number[1..].parse::<usize>().is_ok();
        let tests = last.split('`').skip(1).step_by(2).map(str::to_owned).collect();
        is_row.then(|| Row { number: (*number).to_owned(), tests })
    };
    text.lines().filter_map(row).collect()
}

/// `adapter/fixture` of every fixture there is.
fn fixtures() -> BTreeSet<String> {
    let all = [
        (openai::KEY, openai::tests::quirks::fixtures()),
        (ollama::KEY, ollama::tests::quirks::fixtures()),
        (anthropic::KEY, anthropic::tests::quirks::fixtures()),
    ];
    let names = |(key, list): (&str, Vec<crate::testing::Fixture>)| {
        let (count, names) = (list.len(), list.iter().map(|f| format!("{key}/{}", f.name)).collect::<BTreeSet<_>>());
        assert_eq!(names.len(), count, "{key} has two fixtures of one name");
        names
    };
    all.into_iter().flat_map(names).collect()
}

/// The names of all test functions of the crates, each with the files it stands in.
fn functions(dir: &Path, found: &mut BTreeMap<String, usize>) {
    for entry in std::fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            functions(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            for line in text.lines().map(str::trim_start) {
                let rest = line.strip_prefix("async fn ").or_else(|| line.strip_prefix("fn "));
                if let Some((name, _)) = rest.and_then(|rest| rest.split_once('(')) {
                    *found.entry(name.to_owned()).or_default() += 1;
                }
            }
        }
    }
}

/// Every habit is told once, and shown by a fixture of some adapter or by a test that the table names; what the table names
/// is there, and no fixture is left out of it.
#[test]
fn every_habit_is_shown() {
    let rows = rows();
    let numbers: Vec<&str> = rows.iter().map(|row| &*row.number).collect();
    let more = numbers.len() - NUMBERED;
    let expected: Vec<String> =
        (1..=NUMBERED).map(|n| format!("Q{n}")).chain((1..=more).map(|n| format!("N{n}"))).collect();
    assert_eq!(numbers, expected);

    let fixtures = fixtures();
    let mut tests = BTreeMap::new();
    for name in ["agent-llm", "agent-engine", "agent-testkit", "agent_core"] {
        functions(&root().join("crates").join(name), &mut tests);
    }
    let mut shown = BTreeSet::new();
    for Row { number, tests: named } in &rows {
        assert!(!named.is_empty(), "{number} is shown by nothing");
        for name in named {
            if name.contains('/') {
                assert!(fixtures.contains(name), "{number} names the fixture {name}, which is not there");
                shown.insert(name.clone());
            } else {
                assert!(tests.contains_key(name), "{number} names the test {name}, which is not there");
            }
        }
    }
    let unlisted: Vec<_> = fixtures.difference(&shown).collect();
    assert!(unlisted.is_empty(), "fixtures that the table does not name: {unlisted:?}");
}
