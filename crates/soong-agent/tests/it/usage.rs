//! The command line itself.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use crate::process::Running;
use crate::support::World;

/// CLI-5: every command has help with an example; errors name the next step.
#[test]
fn help_has_examples() {
    let world = World::new("help");
    for command in [
        &["--help"][..],
        &["run", "--help"],
        &["sessions", "--help"],
        &["replay", "--help"],
        &["cleanup", "--help"],
        &["cleanup", "artifacts", "--help"],
        &["cleanup", "session", "--help"],
        &["config", "--help"],
        &["config", "path", "--help"],
    ] {
        let help = world.run(command).exits(0);
        assert!(help.stdout.contains("Example") && help.stdout.contains("soong-agent "), "{}", help.stdout);
        assert_eq!(help.stderr, "");
    }
}

/// CLI-5: help says what an option does not do.
#[test]
fn help_is_honest() {
    let world = World::new("help_honest");
    let help = world.run(&["replay", "--help"]).exits(0).stdout;
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in ["What tools were given and gave back is not among it", "before it took the form that the provider's"]
    {
        assert!(help.contains(words), "{words}: {help}");
    }
    let help = world.run(&["sessions", "--help"]).exits(0).stdout;
    assert!(help.contains("With --search the last column is the place that was found"), "{help}");
}

/// CLI-4: wrong usage is 2, said on stderr, and creates nothing.
#[test]
fn wrong_usage() {
    let world = World::new("wrong_usage");
    for (arguments, word) in [
        (&[][..], "Usage"),
        (&["walk"], "walk"),
        (&["run", "--fast", "hi"], "--fast"),
        (&["run", "one", "two"], "two"),
        (&["run", "--session-id", "../../etc", "hi"], "--session-id"),
        (&["run", "--session-id", "", "hi"], "--session-id"),
        (&["config"], "Usage"),
        (&["config", "edit"], "edit"),
    ] {
        world.run(arguments).exits(2).says(&[word]).answers("");
    }
    let bytes = OsString::from_vec(b"sess_\xff".to_vec());
    let odd = [OsString::from("run"), OsString::from("--session-id"), bytes, OsString::from("hi")];
    Running::start(world.agent(odd)).ends().exits(2);
    assert_eq!(world.left_in_home(), Vec::<String>::new());
    assert_eq!(world.server.request_count(), 0);
}

/// CLI-4: a session that does not exist is a wrong argument; nothing is asked of the model.
#[test]
fn an_unknown_session() {
    let world = World::new("unknown_session");
    let unknown = "sess_0123456789abcdef";
    world.run(&["run", "--session-id", unknown, "hi"]).exits(2).one_error().says(&[unknown]).answers("");
    assert_eq!((world.sessions(), world.server.request_count()), (Vec::new(), 0));
}
