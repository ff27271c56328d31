//! What stands in the sources that ship, whole files, and how their modules use each other.

use super::layers::{IMPURE, LOOKS_AROUND, PURE, crates};
use super::workspace::WORKSPACE;

/// The module that looks around for whoever embeds the core.
const ENVIRONMENT: &str = "crate::environment ";

#[test]
fn pure_crates_are_pure() {
    for name in PURE {
        assert_eq!(named_in(name, IMPURE), Vec::<String>::new(), "{name} is not pure");
    }
    // What is looked for is found where it is.
    assert!(!named_in("agent-exec", IMPURE).is_empty());
}

/// API-10, API-11: only one module of the facade looks at environment, current folder and home.
#[test]
fn only_the_environment_looks_around() {
    for (layer, name, _) in crates().filter(|(layer, ..)| !["face", "development"].contains(layer)) {
        let mut found = named_in(name, LOOKS_AROUND);
        if layer == "facade" {
            let before = found.len();
            found.retain(|found| !found.starts_with(ENVIRONMENT));
            assert!(found.len() < before, "nothing of {name} looks around any more: is the module called otherwise?");
        }
        assert_eq!(found, Vec::<String>::new(), "{name} looks around");
    }
}

/// Modules use each other in one direction, at every level: among siblings, and between a module's own code and its children.
#[test]
fn no_modules_use_each_other_in_a_circle() {
    for member in &WORKSPACE.members {
        for tree in member.trees() {
            let circles = tree.circles();
            assert!(circles.is_empty(), "{} has circles of modules:\n{}", member.folder.display(), circles.join("\n"));
        }
    }
}

/// Where a crate names one of these: `module names path`.
fn named_in(name: &str, wanted: &[&str]) -> Vec<String> {
    let is_wanted = |named: &str| {
        wanted
            .iter()
            .any(|wanted| named.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with("::")))
    };
    let trees = WORKSPACE.member(name).trees();
    let all =
        trees.iter().flat_map(|tree| tree.outside().into_iter().map(|(module, named)| (tree.path(module), named)));
    all.filter(|(_, named)| is_wanted(named)).map(|(module, named)| format!("{module} names {named}")).collect()
}
