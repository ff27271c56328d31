//! Words that mean something to a shell only. None is there, so a program gets them as they are, and whoever wrote them
//! would take the outcome for that of the command they meant.

use agent_redact::quote_argv;

/// Programs that read what follows as a script, or take such words as their own.
const TAKES_THEM: &[&str] = &[
    "sh", "bash", "dash", "zsh", "ksh", "fish", "busybox", "test", "[", "expr", "find", "fd", "awk", "gawk", "mawk",
    "sed", "jq", "yq", "grep", "egrep", "fgrep", "rg", "ag", "perl", "python", "python3", "ruby", "node", "xargs",
    "parallel", "bc", "dc", "psql", "sqlite3", "mysql",
];

/// What shells do themselves. Where there is a program of the same name, what it does ends with it.
const BUILTINS: &[(&str, &str)] = &[
    ("cd", "to run a command in another folder, give cwd"),
    ("pushd", "to run a command in another folder, give cwd"),
    ("export", SET),
    ("set", SET),
    ("unset", SET),
    ("declare", SET),
    ("source", SCRIPT),
    (".", SCRIPT),
    ("alias", SCRIPT),
    ("eval", SCRIPT),
    ("exec", SCRIPT),
    ("ulimit", SCRIPT),
    ("umask", SCRIPT),
    ("type", "to find a program, use [\"which\", …]"),
];

const SET: &str = "a variable lasts for one command: [\"env\", \"NAME=value\", \"program\", …]";
const SCRIPT: &str = "it lasts for one script: [\"sh\", \"-c\", \"…\"]";

/// What to say of a command that ran, or could not be found, if its words were meant for a shell. `failed`: it did not end
/// well.
pub(super) fn hint(argv: &[String], failed: bool) -> Option<String> {
    let (program, arguments) = argv.split_first()?;
    if let Some((_, instead)) = BUILTINS.iter().find(|(name, _)| name == program) {
        return Some(format!("no shell is there, and `{program}` has no effect on later commands; {instead}"));
    }
    if is_assignment(program) {
        return Some(format!(
            "no shell is there to take `{program}` as a variable; use {}",
            list(&[&["env".to_owned()], argv].concat())
        ));
    }
    let name = program.rsplit('/').next().unwrap_or(program);
    if TAKES_THEM.contains(&name) {
        return None;
    }
    if let Some(operator) = arguments.iter().find(|word| is_operator(word)) {
        return Some(format!(
            "no shell is there, so `{operator}` was passed on as a plain argument; with a shell: {}",
            list(&["sh".to_owned(), "-c".to_owned(), line(argv)])
        ));
    }
    let expanded = arguments.iter().find(|word| failed && would_be_expanded(word))?;
    Some(format!(
        "no shell is there to expand `{expanded}`; with a shell: {}",
        list(&["sh".to_owned(), "-c".to_owned(), line(argv)])
    ))
}

/// `NAME=value`, as the first word.
fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| is_name(name))
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// A word that is nothing but an operator, or a redirection with its file.
fn is_operator(word: &str) -> bool {
    if matches!(word, "|" | "||" | "&&" | ";" | "&" | "|&") {
        return true;
    }
    // As in `2>&1`, `>>`, `>out.txt`, `&>`.
    let rest = word.trim_start_matches(|c: char| c.is_ascii_digit());
    let rest = rest.strip_prefix('&').unwrap_or(rest);
    let Some(file) = rest.strip_prefix(['>', '<']) else { return false };
    let file = file.trim_start_matches(['>', '<', '&', '|']);
    // `<div>` and `<=` are no redirections.
    !file.contains(['>', '<', '=', ' '])
}

/// A word that a shell would replace by others.
fn would_be_expanded(word: &str) -> bool {
    let variable = |rest: &str| {
        rest.starts_with('{')
            || rest.starts_with('(')
            || rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
    };
    word == "~" || word.starts_with("~/") || word.contains('*') || word.split('$').skip(1).any(variable)
}

/// The words as the line that was probably meant: those with a meaning for a shell as they are.
fn line(argv: &[String]) -> String {
    let words = argv.iter().map(|word| {
        let is_meant =
            is_operator(word) || (would_be_expanded(word) && !word.contains([' ', '\'', '"', ';', '&', '|']));
        if is_meant { word.clone() } else { quote_argv(std::slice::from_ref(word)) }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// The words as a list to call with.
pub(super) fn list(argv: &[String]) -> String {
    const MOST: usize = 600;
    let list = serde_json::Value::from(argv).to_string();
    if list.len() <= MOST { list } else { "[\"sh\", \"-c\", \"…\"]".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    /// FND-30: whoever wrote for a shell is told that none is there, and how to have one.
    #[test]
    fn words_for_a_shell_are_told() {
        for (argv, part) in [
            (
                "echo hello > out.txt",
                r#"`>` was passed on as a plain argument; with a shell: ["sh","-c","echo hello > out.txt"]"#,
            ),
            ("cargo test 2>&1", r#"["sh","-c","cargo test 2>&1"]"#),
            ("ls -la | wc", r#"["sh","-c","ls -la | wc"]"#),
            ("make && ./run", "`&&`"),
            ("sort <in.txt", "`<in.txt`"),
            ("cd src", "give cwd"),
            ("export A=1", r#"["env", "NAME=value""#),
            ("source .venv/bin/activate", "one script"),
            ("RUST_LOG=debug cargo run", r#"["env","RUST_LOG=debug","cargo","run"]"#),
        ] {
            for failed in [false, true] {
                let hint = hint(&words(argv), failed).unwrap_or_else(|| panic!("{argv}"));
                assert!(hint.contains("no shell is there") && hint.contains(part), "{argv}: {hint}");
            }
        }
        for (argv, word) in [("ls *.rs", "*.rs"), ("cat $HOME/x", "$HOME/x"), ("ls ~/x", "~/x"), ("cat ${X}", "${X}")] {
            assert_eq!(hint(&words(argv), false), None, "{argv}");
            assert!(hint(&words(argv), true).unwrap().contains(&format!("`{word}`")), "{argv}");
        }
    }

    /// FND-30: words that mean something to the program itself are left alone.
    #[test]
    fn ordinary_words_are_not_told() {
        for argv in [
            "sh -c ls > x",
            "/bin/bash -c a | b",
            "find . -name *.rs -exec rm {} ;",
            "test 1 < 2",
            "awk $1 > 5",
            "grep | f",
            "git commit -m a=b",
            "echo <div>",
            "echo a->b",
            "tool --min>=3",
            "printf %s 5$",
            "jq .a | .b",
        ] {
            assert_eq!(hint(&words(argv), true), None, "{argv}");
        }
    }

    proptest! {
        #![proptest_config(crate::testing::cases(256))]

        /// FND-30: every operator of shells is noticed, wherever it stands and whatever file is written behind it.
        #[test]
        fn operators_are_noticed(
            before in prop::collection::vec("[a-z]{1,5}", 1..3),
            operator in "([0-9]?(>|>>|<)(&[12])?|&>|\\||\\|\\||&&|;)",
            after in prop::collection::vec("[a-z./]{1,5}", 0..3),
        ) {
            prop_assume!(!TAKES_THEM.contains(&before[0].as_str()) && BUILTINS.iter().all(|(name, _)| *name != before[0]));
            let argv = [before, vec![operator.clone()], after].concat();
            let hint = hint(&argv, false).unwrap_or_default();
            let named = format!("`{operator}`");
            prop_assert!(hint.contains(&named), "{:?}: {}", argv, hint);
        }
    }
}
