//! Known secrets in what a command prints and in what is said of it.

use super::*;

/// STO-10: no known secret is shown or stored, however the output is cut.
#[test]
fn secrets_are_taken_out() {
    let (mut tree, shelf) = with_shelf("run-secrets");
    assert_eq!(run(&tree, &["echo", SECRET])["stdout"], "[secret API_KEY]\n");
    tree.limits.stdout_bytes = 1000;
    // The secret again and again, at every offset from every cut.
    let script = format!("i=0; while [ $i -lt 5000 ]; do printf '%s%s' \"$i\" {SECRET}; i=$((i+1)); done");
    let output = output(&tree, sh(&script));
    let ran = data(&output);
    let (_, whole) = shelf.get(ran["stdout_artifact_id"].as_str().unwrap());
    let whole = String::from_utf8(whole).unwrap();
    assert_eq!(whole.matches("[secret API_KEY]").count(), 5000);
    for text in [ran["stdout"].as_str().unwrap(), whole.as_str()] {
        let rest = text.replace("[secret API_KEY]", "");
        // Not even a piece that a cut has left.
        assert!(!["sk-", "QWE", "OPas", "hjkl"].iter().any(|piece| rest.contains(piece)), "{text}");
    }
}

/// STO-10: a result that held a secret says so, wherever it was.
#[test]
fn replaced_secrets_are_told() {
    let (mut tree, _) = with_shelf("run-told");
    tree.limits.stdout_bytes = 1000;
    let told = |script: &str| output(&tree, sh(script)).metadata.get(ToolOutput::REDACTED).cloned();
    assert_eq!(told("echo nothing"), None);
    assert_eq!(told(&format!("echo {SECRET}")), Some(json!(true)));
    assert_eq!(told(&format!("echo {SECRET} >&2; exit 1")), Some(json!(true)));
    let lines = "yes x | head -n 5000";
    assert_eq!(told(lines), None);
    assert_eq!(told(&format!("{lines}; echo {SECRET}; {lines}")), Some(json!(true)), "in the artifact alone");
}

/// STO-10: a form that is longer than the value itself is found across every cut.
#[test]
fn long_forms_of_secrets_are_taken_out() {
    let secret = "/+".repeat(3000);
    let (mut tree, _) = with_shelf("run-long");
    tree.context.secrets = KnownSecrets::new([("API_KEY", &secret)]).unwrap();
    tree.limits.stdout_bytes = 1000;
    tree.file("form", "%2F%2B".repeat(3000));
    for (before, after) in [(0, 100_000), (400, 100_000), (100_000, 0), (100_000, 400), (100_000, 17_000)] {
        let script = format!("head -c {before} /dev/zero; cat form; head -c {after} /dev/zero");
        let output = output(&tree, sh(&script));
        assert!(!data(&output)["stdout"].as_str().unwrap().contains('%'), "{before} {after}");
        assert_eq!(output.metadata[ToolOutput::REDACTED], true);
    }
}

/// STO-10: in a message the secret goes before the words are quoted and cut.
#[test]
fn messages_hold_no_secrets() {
    let mut tree = Tree::new("run-messages");
    let secret = "it's-a-secret-with-a-quote";
    tree.context.secrets = KnownSecrets::new([("API_KEY", secret)]).unwrap();
    let long = format!("{}{secret}", "x".repeat(180));
    for word in [secret, &long] {
        let error = tree.err(RunCommand, json!({"argv": ["sh", "-c", "kill -9 $$", word]}));
        assert!(!error.message.contains("secret-with") && !error.message.contains("a-secret"), "{}", error.message);
        assert!(word == long || error.message.contains("[secret API_KEY]"), "{}", error.message);
    }
}
