//! What docs/security.md promises.

use std::path::Path;

use super::layers::crates;
use super::workspace::WORKSPACE;

/// COD-9: the boundary, in place of a sandbox, is documented promise by promise, each with what tests it: every test that
/// docs/security.md names for a promise exists, in the crate it is said to be in.
#[test]
fn the_tests_behind_the_promises_exist() {
    let page = std::fs::read_to_string(WORKSPACE.root.join("docs/security.md")).unwrap();
    let mut named = 0;
    for (_, name, _) in crates() {
        let all = tests_of(&WORKSPACE.member(name).folder);
        for list in page.split(&format!("{name}: ")).skip(1) {
            let list = list.split([';', '|', '.']).next().unwrap();
            for test in list.split(',').map(str::trim) {
                assert!(is_test(&all, test), "{name} has no test {test:?}");
                named += 1;
            }
        }
    }
    assert!(named > 100, "only {named} tests are named: is the page still written that way?");
}

/// Whether one of the functions of that name is marked as a test.
fn is_test(sources: &str, name: &str) -> bool {
    let start = format!("fn {name}(");
    let marked = |head: &str| head.contains("test]") || head.contains("test(");
    sources.match_indices(&start).any(|(at, _)| marked(sources[..at].rsplit("\n\n").next().unwrap()))
}

/// Everything that may hold a test of a crate.
fn tests_of(folder: &Path) -> String {
    let mut text = String::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            text.push_str(&tests_of(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&std::fs::read_to_string(&path).unwrap());
        }
    }
    text
}
