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
    assert_eq!(found["note"], "not searched: 1 binary: lib.a");
    // FND-29: what is no text is flagged.
    assert_eq!(
        (&found["matches"][0]["text"], &found["matches"][0]["lossy"]),
        (&json!("caf\u{FFFD} needle"), &json!(true))
    );
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
        (
            vec!["a:1".to_owned()],
            &json!("not searched: 1 behind a line of more than 16 MiB, unless named: long; 1 unreadable: locked")
        )
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
        super::FileSearch::new(&query, &agent_redact::KnownSecrets::none(), 1, super::MAX_NAMED_LINE)
            .search(lines, max, "f", &stop)
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
        (0, &json!("no matches, in ignored files neither; not searched: 1 larger than 256 MiB, unless named: big.log"))
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
    // FND-32: with the files there are, and how it is written.
    assert_eq!(
        found["note"],
        "nothing was searched: no file matches the glob *.rs,*.md; there are 2 *.rs, 1 *.md, 1 without an ending \
         (4 files: .gitignore, a.rs, src/b.rs, …); several patterns are written {*.rs,*.md}"
    );
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

/// FND-22: lines that hold the query as it stands come first, whatever it means as a regular expression.
#[test]
fn the_text_itself_comes_first() {
    let tree = Tree::new("search-readings");
    tree.file("a.js", "arri = 1;\nnext;\nfoo bar\n");
    tree.file("b.js", "x = arr[i];\nnext();\nfoo(bar)\n");
    for (query, first, others) in
        [("arr[i]", "b.js:1", vec!["a.js:1"]), ("next();", "b.js:2", vec!["a.js:2"]), ("foo(bar)", "b.js:3", vec![])]
    {
        let found = search(&tree, json!({"query": query}));
        assert_eq!(places(&found), [vec![first], others.clone()].concat(), "{query}: {found}");
        // One match is enough to have the right one.
        assert_eq!(places(&search(&tree, json!({"query": query, "limit": 1}))), [first], "{query}");
        let note = found["note"].as_str().unwrap();
        let expected = if others.is_empty() { "no match as a regular expression" } else { "as plain text come first" };
        assert!(note.contains(expected), "{query}: {note}");
    }
    // Both readings are the same lines: nothing to say.
    assert_eq!(check(&tree, json!({"query": "next.)"}), &[])["matches"], json!([]));
    let found = check(&tree, json!({"query": "arr.i"}), &["b.js:1"]);
    assert_eq!(found["note"], Value::Null);
    // The text is nowhere, and the query looks as if it was meant as text.
    let found = check(&tree, json!({"query": "arr[ij]"}), &["a.js:1"]);
    assert_eq!(
        found["note"],
        "read as a regular expression, as no line holds it as plain text; for the text alone: arr\\[ij\\]"
    );
    check(&tree, json!({"query": r"arr\[i\]"}), &["b.js:1"]);
}

proptest::proptest! {
    #![proptest_config(crate::testing::cases(48))]

    /// FND-22: whatever is searched for, a line that holds it as it stands is found, and before any that does not.
    #[test]
    fn a_line_is_found_by_its_own_text(
        query in "[a-b(){}\\[\\].*+?|^$\\\\-]{1,6}",
        others in proptest::collection::vec("[a-b()\\[\\]]{0,6}", 0..6),
    ) {
        let tree = Tree::new("search-text");
        tree.file("a", others.join("\n"));
        tree.file("z", format!("x\n<{query}>\n"));
        let found = search(&tree, json!({"query": query}));
        let texts: Vec<bool> = found["matches"].as_array().unwrap().iter()
            .map(|hit| hit["text"].as_str().unwrap().contains(&query)).collect();
        proptest::prop_assert!(texts.first() == Some(&true), "{}", found);
        proptest::prop_assert!(texts.is_sorted_by(|one, other| one >= other), "{}", found);
        proptest::prop_assert!(places(&found).contains(&"z:2".to_owned()), "{}", found);
        fs::remove_dir_all(&tree.root).unwrap();
    }
}

/// FND-24: a file that is named is searched, however long its lines are; among many, it is named.
#[test]
fn a_long_line_of_a_named_file() {
    let tree = Tree::new("search-long-line");
    tree.file("f", format!("{}needle\nneedle\n", "x".repeat(17 * 1024 * 1024)));
    check(&tree, json!({"query": "needle", "path": "f"}), &["f:1", "f:2"]);
    let found = check(&tree, json!({"query": "needle"}), &[]);
    assert!(found["note"].as_str().unwrap().contains("a line of more than 16 MiB, unless named: f"), "{found}");
}

/// FND-24: a link that leads out of the folder is named, with the way to what is behind it.
#[test]
fn links_are_named() {
    let tree = Tree::new("search-links");
    fs::create_dir_all(tree.root.join("outside/lib")).unwrap();
    fs::write(tree.root.join("outside/lib/x.rs"), "needle").unwrap();
    tree.file("a.rs", "x\n");
    tree.file("sub/b.rs", "x\n");
    tree.link(tree.root.join("outside"), "vendor");
    tree.link("sub", "inside");
    tree.link("a.rs", "same.rs");
    tree.link("/no/such", "dangling");
    let found = check(&tree, json!({"query": "needle"}), &[]);
    assert_eq!(
        found["note"],
        "no matches, in ignored files neither; not searched: 1 behind links, unless named: vendor"
    );
    let named = search(&tree, json!({"query": "needle", "path": "vendor"}));
    assert_eq!(named["matches"].as_array().unwrap().len(), 1);
}

/// FND-24: a glob that names a folder with brackets finds what is in it.
#[test]
fn globs_name_folders_with_brackets() {
    let tree = Tree::new("search-brackets");
    for path in ["app/[id]/page.tsx", "app/(shop)/page.tsx", "app/i/page.tsx", "app/other/page.tsx"] {
        tree.file(path, "needle");
    }
    let glob = |glob: &str, expected: &[&str]| {
        check(&tree, json!({"query": "needle", "glob": glob}), expected);
    };
    glob("app/[id]/*.tsx", &["app/[id]/page.tsx:1", "app/i/page.tsx:1"]);
    glob("app/(shop)/**", &["app/(shop)/page.tsx:1"]);
    glob("[id]", &["app/[id]/page.tsx:1", "app/i/page.tsx:1"]);
}

/// FND-61: what is searched for stands in the call's line, and nothing searched is not told as no match.
#[test]
fn people_see_what_was_searched() {
    let tree = Tree::new("search-line");
    tree.file("a.rs", "needle\n");
    let facts = tree.facts(Search, json!({"query": "arr[i]", "path": ".", "glob": "*.tsx"}));
    assert_eq!(facts.line.as_deref(), Some("'arr[i]' in ., files '*.tsx'"));
    let summary = |arguments: Value| {
        let output = block_on(tree.call(Search, arguments));
        output.metadata["summary"].as_str().unwrap().to_owned()
    };
    assert_eq!(summary(json!({"query": "needle"})), "1 match");
    assert_eq!(summary(json!({"query": "nothing"})), "0 matches");
    let nothing = "nothing was searched: no file matches the glob *.tsx";
    assert_eq!(summary(json!({"query": "needle", "glob": "*.tsx"})), nothing);
    tree.file("b.rs", "needle\n");
    assert_eq!(summary(json!({"query": "needle", "limit": 1})), "1 match, more follow");
    tree.file(".gitignore", "*.rs\n");
    assert_eq!(summary(json!({"query": "needle"})), "0 matches, 2 in ignored files");
}

/// That no file matches the glob is said whatever else there is; a sensitive file that matches it is a match.
#[test]
fn a_glob_that_fits_nothing() {
    let tree = Tree::new("search-glob-nothing");
    for path in ["a.rs", ".env", "sub/prod.env", "sub/b.pem", "secrets.env/inner"] {
        tree.file(path, "needle\n");
    }
    for (glob, is_nothing, sensitive) in [
        ("*.nope", true, 1),
        ("sub/*.nope", true, 1),
        ("!*", true, 1),
        ("*.env", false, 3),
        ("*.pem", false, 2),
        ("!*.rs", false, 4),
    ] {
        let found = search(&tree, json!({"query": "needle", "glob": glob}));
        let note = found["note"].as_str().unwrap();
        assert_eq!(note.contains("nothing was searched: no file matches the glob"), is_nothing, "{glob}: {note}");
        assert!(note.ends_with(&format!("not searched: {sensitive} sensitive")), "{glob}: {note}");
    }
}

/// FND-32: a pattern given as a path comes back as the call it should have been.
#[test]
fn a_pattern_is_no_path() {
    let tree = Tree::new("search-pattern");
    tree.file("src/a.rs", "needle");
    let message = tree.refused(Search, json!({"query": "x", "path": "src/*.rs"}), ErrorCode::FileNotFound);
    assert!(
        message.contains(r#"{"glob":"*.rs","path":"src"}"#) || message.contains(r#"{"path":"src","glob":"*.rs"}"#),
        "{message}"
    );
}
