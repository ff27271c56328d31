use std::{fs, time::Duration};

use agent_protocol::ErrorCode;
use serde_json::{Value, json};

use super::Search;
use crate::testing::{Tree, block_on, code_unasked};

fn search(tree: &Tree, arguments: Value) -> Value {
    tree.ok(Search, arguments)
}

/// The hits as `path:line`.
fn places(found: &Value) -> Vec<String> {
    let place = |hit: &Value| format!("{}:{}", hit["path"].as_str().unwrap(), hit["line"]);
    found["matches"].as_array().unwrap().iter().map(place).collect()
}

#[track_caller]
fn check(tree: &Tree, arguments: Value, expected: &[&str]) -> Value {
    let found = search(tree, arguments.clone());
    assert_eq!(places(&found), expected, "{arguments}: {found}");
    found
}

/// COD-4: path, line, column, text; in order of path and line; links not followed.
#[test]
fn hits_are_places_and_text() {
    let tree = Tree::new("search-hits");
    tree.file("b.txt", "nothing\nan é needle\r\nneedle needle\n");
    tree.file("a/x.txt", "needle");
    tree.link("b.txt", "link.txt");
    assert_eq!(
        search(&tree, json!({"query": "need.e"})),
        json!({"truncated": false, "matches": [
            {"path": "a/x.txt", "line": 1, "column": 1, "text": "needle"},
            {"path": "b.txt", "line": 2, "column": 6, "text": "an é needle"},
            {"path": "b.txt", "line": 3, "column": 1, "text": "needle needle"},
        ]})
    );
    check(&tree, json!({"query": "^needle$", "path": "a"}), &["a/x.txt:1"]);
    check(&tree, json!({"query": "needle$", "path": "b.txt"}), &["b.txt:2", "b.txt:3"]);
}

/// SRCH-01: a query is never an option.
#[test]
fn queries_that_look_like_options() {
    use std::os::unix::fs::PermissionsExt;
    let tree = Tree::new("search-options");
    let (script, ran) = (tree.root.join("x.sh"), tree.root.join("x.ran"));
    fs::write(&script, format!("#!/bin/sh\ntouch {}\n", ran.display())).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let option = format!("--pre={}", script.display());
    tree.file("f", format!("use {option} here\n-needle\n--help\n"));
    check(&tree, json!({"query": option}), &["f:1"]);
    check(&tree, json!({"query": "-needle"}), &["f:2"]);
    check(&tree, json!({"query": "--help"}), &["f:3"]);
    check(&tree, json!({"query": "--"}), &["f:1", "f:3"]);
    assert!(!ran.exists(), "a query started a program");
}

/// READ-07: links are not followed, so that no tree is endless and nothing outside is found.
#[test]
fn links_are_not_followed() {
    let tree = Tree::new("search-loops");
    tree.file("d/e/f", "needle");
    fs::write(tree.root.join("outside/f"), "needle").unwrap();
    tree.link("..", "d/e/up");
    tree.link("self", "d/self");
    tree.link("/nope", "d/dangling");
    tree.link(tree.root.join("outside"), "d/out");
    check(&tree, json!({"query": "needle"}), &["d/e/f:1"]);
}

/// SRCH-02: ignored files are left out but not passed over in silence, and searched when they are named.
#[test]
fn ignored_files_are_told() {
    let tree = Tree::new("search-ignored");
    tree.file(".gitignore", "scripts/*\n");
    tree.file("scripts/w.py", "def example_writer(): pass\n");
    tree.file("a.py", "x\n");
    let found = check(&tree, json!({"query": "example_writer"}), &[]);
    assert_eq!(
        found["note"],
        "no matches, but 1 in ignored files, such as scripts/w.py; name the path to search there"
    );
    for path in ["scripts/", "scripts", "scripts/w.py"] {
        check(&tree, json!({"query": "example_writer", "path": path}), &["scripts/w.py:1"]);
    }
    let found = check(&tree, json!({"query": "nowhere"}), &[]);
    assert_eq!(found["note"], "no matches, in ignored files neither");
}

/// SRCH-02: the same in a repository, where rules above the named folder count.
#[test]
fn ignore_files_of_a_repository_count_below() {
    let tree = Tree::new("search-repository");
    fs::create_dir(tree.project().join(".git")).unwrap();
    tree.file(".git/needle", "needle");
    tree.file(".gitignore", "*.log\nout/*\n");
    tree.file("src/a.rs", "needle");
    tree.file("src/a.log", "needle");
    tree.file("out/b.rs", "needle");
    check(&tree, json!({"query": "needle"}), &["src/a.rs:1"]);
    check(&tree, json!({"query": "needle", "path": "src"}), &["src/a.rs:1"]);
    check(&tree, json!({"query": "needle", "path": "out"}), &["out/b.rs:1"]);
    check(&tree, json!({"query": "needle", "path": ".git"}), &[".git/needle:1"]);
}

/// SRCH-04: a binary file is counted, and fails nothing.
#[test]
fn binary_files_are_counted() {
    let tree = Tree::new("search-binary");
    tree.file("lib.a", b"needle\n\0\xff\xfe needle\n");
    tree.file("x.rs", "needle");
    tree.file("latin", b"caf\xe9 needle\n");
    let found = check(&tree, json!({"query": "needle"}), &["latin:1", "x.rs:1"]);
    assert_eq!(found["note"], "not searched: 1 binary");
    assert_eq!(found["matches"][0]["text"], "caf\u{FFFD} needle");
}

/// COD-4: what cannot be searched is counted: a line that does not fit into memory, a file nobody may read.
#[cfg(target_os = "linux")]
#[test]
fn what_cannot_be_searched_is_counted() {
    use std::os::unix::fs::PermissionsExt;
    let tree = Tree::new("search-counts");
    tree.file("long", "x".repeat(17 * 1024 * 1024) + "needle");
    fs::set_permissions(tree.file("locked", "needle"), fs::Permissions::from_mode(0o000)).unwrap();
    tree.file("a", "needle");
    let prepared = block_on(tree.prepare(Search, json!({"query": "needle"}))).unwrap();
    // The threads of a search have the rights of the thread that starts it.
    let output = crate::testing::without_privileges(|| block_on(prepared.call.run()));
    let found = crate::testing::data(&output);
    assert_eq!(
        (places(&found), &found["note"]),
        (vec!["a:1".to_owned()], &json!("not searched: 1 too big unless named, 1 unreadable"))
    );
}

/// SRCH-06: a pipe holds nobody.
#[test]
fn pipes_do_not_hang() {
    let tree = Tree::new("search-pipe");
    tree.pipe("run.fifo");
    tree.file("a", "needle");
    let found = block_on(async {
        tokio::time::timeout(Duration::from_secs(20), tree.call(Search, json!({"query": "needle"}))).await.unwrap()
    });
    assert_eq!(places(&crate::testing::data(&found)), ["a:1"]);
    tree.refused(Search, json!({"query": "needle", "path": "run.fifo"}), ErrorCode::ValidationError);
}

/// SRCH-07: sensitive files are passed over and counted; one that is named is a target to decide about.
#[test]
fn sensitive_files_are_not_searched() {
    let tree = Tree::new("search-sensitive");
    tree.file(".env", "STRIPE=sk_live_x");
    tree.file("a/.env.local", "STRIPE=sk_live_x");
    for arguments in [json!({"query": "STRIPE"}), json!({"query": "STRIPE", "glob": ".env*"})] {
        let found = check(&tree, arguments, &[]);
        assert_eq!(found["note"], "no matches, in ignored files neither; not searched: 2 sensitive");
    }
    // One that is named is asked for.
    let named = json!({"query": "STRIPE", "path": ".env"});
    assert_eq!(code_unasked(tree.verdict(Search, named.clone())), ErrorCode::PermissionDenied);
    check(&tree, named, &[".env:1"]);
}

/// SRCH-07: the process's own environment is not found by a search of `/proc`.
#[cfg(target_os = "linux")]
#[test]
fn proc_is_searched_without_its_secrets() {
    let tree = Tree::new("search-proc");
    // Every environment has it.
    for arguments in [json!({"query": "PATH=", "glob": "environ"}), json!({"query": "PATH="}), json!({"query": "KEY"})]
    {
        let mut arguments = arguments;
        arguments["path"] = json!("/proc/self");
        let found = search(&tree, arguments.clone());
        assert!(places(&found).iter().all(|hit| !hit.contains("environ")), "{arguments}: {found}");
        assert!(found["note"].as_str().unwrap().contains("sensitive"), "{arguments}: {found}");
    }
}

/// SRCH-09: a regular expression that was meant as text is found as text, and one with an escape means what it says.
#[test]
fn text_that_looks_like_a_pattern() {
    let tree = Tree::new("search-literal");
    tree.file("a", "x.html(json.data);\n");
    tree.file("b", "a | b\nno pipe\n");
    let found = check(&tree, json!({"query": ".html(json.data)"}), &["a:1"]);
    assert_eq!(found["note"], "no match as a regular expression; these are matches as plain text");
    check(&tree, json!({"query": r"\|"}), &["b:1"]);
    let found = check(&tree, json!({"query": "html("}), &["a:1"]);
    assert!(found["note"].as_str().unwrap().contains("not a valid regular expression"), "{found}");
    for query in ["", "a\nb"] {
        tree.refused(Search, json!({"query": query}), ErrorCode::ValidationError);
    }
}

/// SRCH-12: of a long line, what matches is shown.
#[test]
fn long_lines_show_what_matches() {
    let tree = Tree::new("search-long");
    tree.file("f", format!("{}key=1{}\n", "a".repeat(2500), "b".repeat(2500)));
    let found = check(&tree, json!({"query": "key="}), &["f:1"]);
    let text = found["matches"][0]["text"].as_str().unwrap();
    assert!(text.contains("akey=1b") && text.len() < 400, "{text}");
}

/// COD-4: a file that grows while it is searched, or has no size at all, is searched up to a bound.
#[test]
fn endless_files_are_given_up() {
    let query = super::Query::parse("needle").unwrap();
    let stop = super::Stop { cancel: tokio_util::sync::CancellationToken::new(), deadline: None };
    let outcome = |max| {
        let lines = std::io::Read::take(std::io::repeat(b'\n'), 1 << 20);
        super::FileSearch::new(query.matcher.clone(), 1).search(lines, max, "f", &stop)
    };
    assert!(matches!(outcome(1 << 20), super::file::Outcome::Searched { .. }));
    assert!(matches!(outcome((1 << 20) - 1), super::file::Outcome::TooBig));
}

/// COD-4: among many, a file that is too big is counted; one that is named is searched to its end.
#[test]
fn big_files_are_searched_when_named() {
    let tree = Tree::new("search-big");
    let path = tree.file("big.log", "");
    let mut file = fs::File::create(&path).unwrap();
    let line = [b"x".repeat((1 << 20) - 1), b"\n".to_vec()].concat();
    for _ in 0..257 {
        std::io::Write::write_all(&mut file, &line).unwrap();
    }
    std::io::Write::write_all(&mut file, b"needle\n").unwrap();
    drop(file);
    let found = search(&tree, json!({"query": "needle"}));
    assert_eq!(
        (places(&found).len(), &found["note"]),
        (0, &json!("no matches, in ignored files neither; not searched: 1 too big unless named"))
    );
    let found = search(&tree, json!({"query": "needle", "path": "big.log"}));
    assert_eq!(places(&found), ["big.log:258"]);
    fs::remove_file(path).unwrap();
}

/// SRCH-11: the default limit holds, and the result stays below the threshold.
#[test]
fn results_are_bounded() {
    let tree = Tree::new("search-bounded");
    let noise = "x".repeat(2500);
    for n in 0..300 {
        tree.file(&format!("{n:03}"), format!("{noise}needle{noise}\n"));
    }
    let found = search(&tree, json!({"query": "needle"}));
    let places = places(&found);
    assert_eq!((places.len(), places[0].as_str(), places[99].as_str()), (100, "000:1", "099:1"));
    assert_eq!(found["truncated"], true);
    assert!(found.to_string().len() < tree.limits.result_bytes);
}

/// COD-4: globs choose files and do not bring ignored ones back.
#[test]
fn globs_choose() {
    let tree = Tree::new("search-glob");
    for path in ["a.rs", "src/b.rs", "src/c.md", "out/d.rs"] {
        tree.file(path, "needle");
    }
    tree.file(".gitignore", "out/\n");
    let glob = |glob: &str, expected: &[&str]| {
        check(&tree, json!({"query": "needle", "glob": glob}), expected);
    };
    glob("*.rs", &["a.rs:1", "src/b.rs:1"]);
    glob("src/**", &["src/b.rs:1", "src/c.md:1"]);
    glob("!*.rs", &["src/c.md:1"]);
    glob("*.{md,txt}", &["src/c.md:1"]);
    for folder in ["src", "src/", "./src", "./src/**", "/src/"] {
        glob(folder, &["src/b.rs:1", "src/c.md:1"]);
    }
    for folder in ["!src", "!src/", "!./src/**"] {
        glob(folder, &["a.rs:1"]);
    }
    let found = search(&tree, json!({"query": "needle", "glob": "*.rs,*.md"}));
    assert_eq!(found["note"], "nothing was searched: no file matches the glob");
    tree.refused(Search, json!({"query": "x", "glob": "{"}), ErrorCode::ValidationError);
}

#[test]
fn a_cancelled_search_is_an_error() {
    let tree = Tree::new("search-cancel");
    tree.file("a", "needle");
    let output = block_on(async {
        let prepared = tree.prepare(Search, json!({"query": "needle"})).await.unwrap();
        tree.context.cancel.cancel();
        prepared.call.run().await
    });
    assert_eq!(output.error.unwrap().code, ErrorCode::Cancelled);
}
