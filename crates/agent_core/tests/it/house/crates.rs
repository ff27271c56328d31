//! The graph of the crates: real edges against allowed ones, and its picture.

use std::fmt::Write as _;

use super::layers::{CONFINED, IMPURE_CRATES, PURE, crates};
use super::workspace::WORKSPACE;

/// Around the picture in ARCHITECTURE.md.
const BEGIN: &str = "<!-- The crates and whom they use, from the manifests. Do not edit: UPDATE_DOCS=1 cargo test -p agent_core house -->\n\
                     ```text\n";
/// So many crates stand in a line.
const A_LINE: usize = 6;
const END: &str = "```\n<!-- end of the crates -->\n";

#[test]
fn crates_use_only_what_lies_below_them() {
    let mut below = Vec::new();
    for (_, name, allowed) in crates() {
        for used in allowed {
            assert!(below.contains(used), "{name} may not use {used}: that is not below it");
        }
        below.push(name);
        for used in
            WORKSPACE.member(name).uses.iter().filter(|used| WORKSPACE.members.iter().any(|it| it.name == **used))
        {
            assert!(allowed.contains(&used.as_str()), "{name} uses {used}");
        }
    }
    let unknown: Vec<_> =
        WORKSPACE.members.iter().map(|member| &member.name).filter(|name| !below.contains(&name.as_str())).collect();
    assert!(unknown.is_empty(), "{unknown:?} stand in no layer");
}

#[test]
fn heavy_dependencies_are_confined() {
    for member in &WORKSPACE.members {
        for (dependency, owners) in CONFINED {
            let may = owners.contains(&member.name.as_str());
            assert!(may || !member.uses.contains(*dependency), "{} uses {dependency}", member.name);
        }
    }
}

#[test]
fn pure_crates_depend_on_pure_crates() {
    for name in PURE {
        let reached = WORKSPACE.reaches(name);
        assert!(reached.contains("serde"), "{name} reaches {reached:?}: is that all?");
        for impure in IMPURE_CRATES {
            assert!(!reached.contains(impure), "{name} depends on {impure}");
        }
    }
    // What is looked for is found where it is.
    assert!(WORKSPACE.reaches("agent-llm").contains("mio"));
}

/// The picture in ARCHITECTURE.md is what the manifests say. To write it anew: `UPDATE_DOCS=1 cargo test -p agent_core house`.
#[test]
fn the_picture_of_the_crates_is_true() {
    let path = WORKSPACE.root.join("ARCHITECTURE.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("the picture begins somewhere");
    let (there, after) = rest.split_once(END).expect("the picture ends somewhere");
    let picture = picture();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}{picture}{END}{after}")).unwrap();
    } else {
        assert!(there == picture, "the picture of the crates is stale; it should be\n{picture}");
    }
}

/// The crates from the top down, each with those of ours it uses.
fn picture() -> String {
    let width = |text: fn((&'static str, &'static str)) -> &'static str| {
        crates().map(|(layer, name, _)| text((layer, name)).len()).max().unwrap_or(0)
    };
    let (layers, names) = (width(|(layer, _)| layer), width(|(_, name)| name));
    let mut picture = String::new();
    let mut last = "";
    for (layer, name, _) in crates().rev() {
        let uses = &WORKSPACE.member(name).uses;
        let used: Vec<_> = crates().rev().map(|(_, used, _)| used).filter(|used| uses.contains(*used)).collect();
        let shown = if layer == last { "" } else { layer };
        let mut lines = used.chunks(A_LINE).map(|used| used.join("  "));
        let first = lines.next().map_or_else(String::new, |line| format!("──► {line}"));
        writeln!(picture, "{}", format!("{shown:layers$}   {name:names$} {first}").trim_end()).unwrap();
        for line in lines {
            writeln!(picture, "{:layers$}   {:names$}     {line}", "", "").unwrap();
        }
        last = layer;
    }
    picture
}
