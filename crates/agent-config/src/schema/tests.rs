//! The walk, on a small section of its own.
#![expect(unreachable_pub, reason = "sections are public where they are declared in earnest")]

use std::collections::BTreeMap;

use super::{Doc, Field, Report, Text, count, join, number, real, rule, section, words};
use crate::tree;

section! {
    /// Every sort of field.
    pub struct Zoo {
        /// Animals.
        animals: u32 = 3, count(1, 10, "animals");
        /// Open.
        open: bool = true;
        /// Price.
        entry: f64 = 1.5, real(0.0, 2.0);
        /// Boss.
        keeper: Option<String> = None;
        /// Weather.
        weather: Weather = Weather::Dry;
        /// Cages.
        cages: Vec<Cage> = Vec::new();
        /// Wings.
        wings: BTreeMap<String, Cage> = BTreeMap::new(), NO_BLANKS;
        /// The first cage.
        main: Cage = Cage { label: "main".to_owned(), doors: 1 };
    }
}

section! {
    /// Has a required key.
    pub struct Cage {
        /// Label.
        label: String;
        /// Doors.
        doors: u32 = 1, number(0, 4);
    }
}

words! {
    /// Two words.
    pub enum Weather {
        /// Dry.
        Dry = "dry",
        /// Wet.
        Wet = "wet",
    }
}

const NO_BLANKS: Text = Text {
    noun: "a name without blanks",
    check: |text| if text.contains(' ') { Err(rule::Refusal::Shown) } else { Ok(()) },
};

fn read(text: &str) -> (Zoo, Vec<String>) {
    let (root, errors) = tree::parse(text);
    assert!(errors.is_empty(), "{errors:?}");
    let mut report = Report::new(text);
    let mut zoo = Zoo::default();
    zoo.absorb(&root, "", (), &mut report);
    let problems = report.into_problems("zoo").err();
    let lines = problems.iter().flat_map(|found| found.problems()).map(|problem| {
        let place = problem.position.map(|p| format!("{}:{} ", p.line, p.column)).unwrap_or_default();
        format!("{place}{problem}")
    });
    (zoo, lines.collect())
}

#[track_caller]
fn wrong(text: &str, expected: &[&str]) {
    assert_eq!(read(text).1, expected);
}

#[test]
fn what_is_written_replaces_the_default_and_the_rest_stays() {
    let (zoo, problems) = read(
        "animals = 0x0A\nentry = 2\nweather = 'wet'\ncages = [{label = 'a'}, {label = 'b', doors = 0}]\n[wings.east]\nlabel = 'e'\n[main]\nlabel = 'm'\ndoors = 2\n",
    );
    assert_eq!(problems, Vec::<String>::new());
    let cage = |label: &str, doors| Cage { label: label.to_owned(), doors };
    let expected = Zoo {
        animals: 10,
        open: true,
        entry: 2.0,
        keeper: None,
        weather: Weather::Wet,
        cages: vec![cage("a", 1), cage("b", 0)],
        wings: BTreeMap::from([("east".to_owned(), cage("e", 1))]),
        main: cage("m", 2),
    };
    assert_eq!(zoo, expected);
}

#[test]
fn numbers_say_what_they_count_an_example_and_their_bounds() {
    wrong("animals = 'x'", &["1:11 animals: expected a whole number of animals such as 3, found the string \"x\""]);
    wrong("animals = 1.0", &["1:11 animals: expected a whole number of animals such as 3, found the number 1.0"]);
    wrong("animals = 11", &["1:11 animals: expected a whole number of animals from 1 to 10, found the number 11"]);
    wrong("animals = -1", &["1:11 animals: expected a whole number of animals from 1 to 10, found the number -1"]);
    let huge = format!("animals = {}", "9".repeat(50));
    assert_eq!(read(&huge).1.len(), 1);
    for entry in ["nan", "inf", "-0.1", "2.01", "'1'", "1979-05-27"] {
        assert_eq!(read(&format!("entry = {entry}")).1.len(), 1, "{entry}");
    }
    wrong("entry = nan", &["1:9 entry: expected a number from 0 to 2, found the number NaN"]);
}

#[test]
fn every_problem_is_found_with_its_place() {
    wrong(
        "open = 1\nweather = 'hot'\nkeeper = []\nanimal = 3\n[main]\ndoors = 5\n[wings.\"a b\"]\nlabel = 'x'\n[[cages]]\ndoors = 1\n[[cages]]\nlabel = 7\n",
        &[
            "1:8 open: expected true or false, found the number 1",
            "2:11 weather: expected \"dry\" or \"wet\", found the string \"hot\"",
            "3:10 keeper: expected a string, found a list",
            "4:1 animal: unknown key; the nearest known key is `animals`",
            "5:1 main.label: missing key; it must be there and hold a string",
            "6:9 main.doors: expected a whole number from 0 to 4, found the number 5",
            "7:8 wings.\"a b\": expected a name without blanks, found the name \"a b\"",
            "9:1 cages[0].label: missing key; it must be there and hold a string",
            "12:9 cages[1].label: expected a string, found the number 7",
        ],
    );
}

#[test]
fn tables_lists_and_values_are_not_taken_for_each_other() {
    wrong("main = 3", &["1:8 main: expected a table ([main]), found the number 3"]);
    wrong("cages = 3", &["1:9 cages: expected a list, each a table, found the number 3"]);
    wrong("cages = [3]", &["1:10 cages[0]: expected a table, found the number 3"]);
    wrong("[animals]", &["1:1 animals: expected a whole number of animals such as 3, found a table"]);
    wrong("[wings]\neast = 1", &["2:8 wings.east: expected a table ([wings.east]), found the number 1"]);
}

#[test]
fn rows_hold_every_key_once_with_its_meaning() {
    let mut rows = Vec::new();
    Zoo::default().rows("", Doc { meaning: "", required: false }, (), &mut rows);
    let keys: Vec<_> = rows.iter().map(|row| row.key.as_str()).collect();
    let cage = |at: &str| [at.to_owned(), format!("{at}.label"), format!("{at}.doors")];
    let mut expected: Vec<String> =
        ["", "animals", "open", "entry", "keeper", "weather", "cages"].map(str::to_owned).to_vec();
    expected.extend(cage("cages[]"));
    expected.push("wings".to_owned());
    expected.extend(cage("wings.NAME"));
    expected.extend(cage("main"));
    assert_eq!(keys, expected);
    let label = rows.iter().find(|row| row.key == "cages[].label").expect("row");
    assert!(label.doc.required);
    assert_eq!(label.doc.meaning.trim(), "Label.");
}

#[test]
fn keys_are_quoted_where_they_must_be() {
    assert_eq!(join("", "a"), "a");
    assert_eq!(join("a", "b-c_1"), "a.b-c_1");
    assert_eq!(join("tools.overrides", "code.read_file"), "tools.overrides.\"code.read_file\"");
    assert_eq!(join("a", ""), "a.\"\"");
    assert_eq!(join("a", "x\u{1b}[2J"), "a.\"x\\u{1b}[2J\"");
}

#[test]
fn problems_beyond_the_limit_are_counted() {
    let text: String = (0..super::MAX_PROBLEMS + 5).map(|n| format!("x{n} = 1\n")).collect();
    let (root, _) = tree::parse(&text);
    let mut report = Report::new(&text);
    Zoo::default().absorb(&root, "", (), &mut report);
    let problems = report.into_problems("zoo").expect_err("unknown keys");
    assert_eq!(problems.problems().len(), super::MAX_PROBLEMS);
    assert_eq!(problems.left_out(), 5);
    assert!(problems.to_string().contains("has 105 problems"));
    assert!(problems.to_string().contains("… and 5 more"));
}
