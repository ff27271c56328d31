use std::path::Path;

use super::{PathValue, PathValueError, Places};

fn places() -> Places {
    Places { home: "/h/ome".into(), project: "/pro/ject".into() }
}

#[track_caller]
fn resolves(text: &str, expected: &str) {
    let value = PathValue::new(text).expect(text);
    assert_eq!(value.resolve(&places()).as_os_str(), Path::new(expected).as_os_str(), "{text}");
    assert_eq!(PathValue::new(&value.to_string()), Ok(value), "{text} does not survive being written");
}

#[track_caller]
fn refused(text: &str, expected: PathValueError) {
    assert_eq!(PathValue::new(text), Err(expected), "{text}");
}

/// CFG-2: two placeholders, each as the first part.
#[test]
fn placeholders_stand_for_home_and_project() {
    resolves("${SOONG_AGENT_HOME}/sessions.sqlite", "/h/ome/sessions.sqlite");
    resolves("<project>/.soong-agent/plans", "/pro/ject/.soong-agent/plans");
    resolves("${SOONG_AGENT_HOME}", "/h/ome");
    resolves("<project>/", "/pro/ject");
    resolves("<project>//x", "/pro/ject/x");
    resolves("/abs/olute", "/abs/olute");
    resolves("/with $dollar/and <angle>", "/with $dollar/and <angle>");
    resolves("/", "/");
}

/// CFG-2: nothing else is expanded, and what looks like it is an error rather than a folder of that name.
#[test]
fn anything_else_that_looks_like_a_variable_is_refused() {
    refused("${HOME}/x", PathValueError::UnknownVariable);
    refused("$HOME/x", PathValueError::UnknownVariable);
    refused("/x/${USER}", PathValueError::UnknownVariable);
    refused("<project>/${USER}", PathValueError::UnknownVariable);
    refused("${soong_agent_home}/x", PathValueError::UnknownVariable);
    refused("~/x", PathValueError::UnknownVariable);
    refused("/x/<project>", PathValueError::MisplacedPlaceholder);
    refused("/x/${SOONG_AGENT_HOME}", PathValueError::MisplacedPlaceholder);
    refused("${SOONG_AGENT_HOME}${SOONG_AGENT_HOME}", PathValueError::MisplacedPlaceholder);
    refused("<project>x", PathValueError::MisplacedPlaceholder);
    refused("${SOONG_AGENT_HOME}.old/x", PathValueError::MisplacedPlaceholder);
    refused("relative/x", PathValueError::Relative);
    refused("./x", PathValueError::Relative);
    refused("<home>/x", PathValueError::Relative);
    refused("", PathValueError::Relative);
    refused("/x\0y", PathValueError::ControlCharacter);
    refused("/x\ny", PathValueError::ControlCharacter);
}

#[test]
fn inside_home_means_below_it_by_name() {
    let inside = |text: &str| PathValue::new(text).expect(text).is_inside_home(&places());
    for text in ["${SOONG_AGENT_HOME}/memory", "/h/ome/a/b", "${SOONG_AGENT_HOME}/./m"] {
        assert!(inside(text), "{text}");
    }
    for text in [
        "${SOONG_AGENT_HOME}",
        "/h/ome",
        "/h/ome2/m",
        "/h",
        "<project>/m",
        "${SOONG_AGENT_HOME}/../m",
        "${SOONG_AGENT_HOME}/m/../n",
    ] {
        assert!(!inside(text), "{text}");
    }
}
