//! The shape of the house: who may use whom, and what nobody has (ARCHITECTURE.md).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The allowed edges between our crates, development aside.
const EDGES: &[(&str, &[&str])] = &[
    ("agent-protocol", &[]),
    ("agent-engine", &["agent-protocol"]),
    ("agent-redact", &["agent-protocol"]),
    ("agent-policy", &["agent-protocol", "agent-redact"]),
    ("agent-library", &[]),
    ("agent-exec", &[]),
    ("agent-store", &["agent-protocol"]),
    ("agent-llm", &["agent-protocol"]),
    ("agent-tool", &["agent-protocol", "agent-redact", "agent-policy"]),
    ("agent-code", &["agent-protocol", "agent-redact", "agent-policy", "agent-tool", "agent-exec"]),
    ("agent-config", &[]),
    (
        "agent-runtime",
        &[
            "agent-protocol",
            "agent-engine",
            "agent-redact",
            "agent-policy",
            "agent-library",
            "agent-store",
            "agent-tool",
            "agent-llm",
        ],
    ),
    (
        "agent_core",
        &[
            "agent-protocol",
            "agent-code",
            "agent-config",
            "agent-engine",
            "agent-library",
            "agent-llm",
            "agent-policy",
            "agent-redact",
            "agent-runtime",
            "agent-store",
            "agent-tool",
        ],
    ),
    // What concerns the whole process is switched on by whoever owns it.
    ("soong-agent", &["agent_core", "agent-exec"]),
    ("agent-testkit", &[]),
];

/// Crates of others that only one of ours may use.
const CONFINED: &[(&str, &str)] = &[
    ("reqwest", "agent-llm"),
    ("rustls", "agent-llm"),
    ("rusqlite", "agent-store"),
    ("process-wrap", "agent-exec"),
    ("clap", "soong-agent"),
    ("grep-searcher", "agent-code"),
    ("ignore", "agent-code"),
];

/// What the sources of pure crates never name.
const IMPURE: &[&str] =
    &["std::fs", "std::net", "std::env", "std::process", "SystemTime::now", "Instant::now", "tokio", "rand::"];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The names under `[dependencies]` of each crate.
fn dependencies() -> BTreeMap<String, Vec<String>> {
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(crates()).unwrap().flatten() {
        let manifest = std::fs::read_to_string(entry.path().join("Cargo.toml")).unwrap();
        let section = manifest.split("\n[dependencies]\n").nth(1).unwrap_or_default();
        let section = section.split("\n[").next().unwrap_or_default();
        let names = section.lines().filter_map(|line| line.split(['.', ' ', '=']).next());
        let names = names.filter(|name| !name.is_empty() && !name.starts_with('#')).map(str::to_owned).collect();
        all.insert(entry.file_name().into_string().unwrap(), names);
    }
    all
}

/// API-1: the stable names are the facade's.
#[test]
fn the_facade_has_the_stable_names() {
    use agent_core::{
        AgentDefinition, AgentRuntime, PermissionDecision, PermissionRequest, RunHandle, RuntimeEvent, ToolDefinition,
        ToolResult, UserMessage,
    };
    fn names<T>() -> &'static str {
        std::any::type_name::<T>()
    }
    let all = [
        names::<AgentRuntime>(),
        names::<UserMessage>(),
        names::<RunHandle>(),
        names::<RuntimeEvent>(),
        names::<PermissionRequest>(),
        names::<PermissionDecision>(),
        names::<ToolDefinition>(),
        names::<ToolResult>(),
        names::<AgentDefinition>(),
    ];
    assert!(all.iter().all(|name| !name.contains("rusqlite") && !name.contains("reqwest")), "{all:?}");
    // Nothing of SQLite's rows or of a provider's own types is public.
    let facade = std::fs::read_to_string(crates().join("agent_core/src/lib.rs")).unwrap();
    let exported: Vec<_> = facade.lines().filter(|line| line.contains("pub use")).collect();
    for hidden in ["rusqlite", "reqwest", "SqliteStore", "SessionRow", "RunRow"] {
        assert!(!exported.iter().any(|line| line.contains(hidden)), "{hidden} is public");
    }
}

#[test]
fn crates_use_only_what_lies_below_them() {
    let dependencies = dependencies();
    let known: Vec<_> = EDGES.iter().map(|(name, _)| *name).collect();
    assert_eq!(
        dependencies.keys().filter(|name| !known.contains(&name.as_str())).collect::<Vec<_>>(),
        Vec::<&String>::new()
    );
    for (name, allowed) in EDGES {
        for used in dependencies[*name].iter().filter(|used| known.contains(&used.as_str())) {
            assert!(allowed.contains(&used.as_str()), "{name} uses {used}");
        }
    }
}

#[test]
fn heavy_dependencies_are_confined() {
    for (name, used) in dependencies() {
        for (dependency, owner) in CONFINED {
            assert!(name == *owner || !used.iter().any(|used| used == dependency), "{name} uses {dependency}");
        }
    }
}

#[test]
fn pure_crates_are_pure() {
    for name in ["agent-protocol", "agent-engine", "agent-redact", "agent-policy"] {
        for file in sources(&crates().join(name).join("src")) {
            // Tests may look at files; what ships may not.
            let text = std::fs::read_to_string(&file).unwrap();
            let shipped = text.split("#[cfg(test)]").next().unwrap();
            for word in IMPURE {
                let code = shipped.lines().filter(|line| !line.trim_start().starts_with("//"));
                assert!(!code.into_iter().any(|line| line.contains(word)), "{} names {word}", file.display());
            }
        }
    }
}

/// API-10, API-11: only `edges` looks at environment, current folder and home.
#[test]
fn only_the_edges_look_around() {
    for (name, _) in EDGES.iter().filter(|(name, _)| !["soong-agent", "agent-testkit"].contains(name)) {
        for file in sources(&crates().join(name).join("src")) {
            if file.ends_with("agent_core/src/edges.rs") {
                continue;
            }
            let text = std::fs::read_to_string(&file).unwrap();
            let shipped = text.split("#[cfg(test)]").next().unwrap();
            for word in ["env::var", "env::current_dir", "env::home_dir", "env::temp_dir"] {
                assert!(!shipped.contains(word), "{} names {word}", file.display());
            }
        }
    }
}

/// COD-9: the boundary, in place of a sandbox, is documented promise by promise, each with what tests it: every test that
/// docs/security.md names for a promise exists, in the crate it is said to be in.
#[test]
fn the_tests_behind_the_promises_exist() {
    let page = std::fs::read_to_string(crates().join("../docs/security.md")).unwrap();
    let mut named = 0;
    for (name, _) in EDGES {
        let all = tests_of(&crates().join(name));
        for list in page.split(&format!("{name}: ")).skip(1) {
            let list = list.split([';', '|', '.']).next().unwrap();
            for test in list.split(',').map(str::trim) {
                assert!(all.contains(&format!("fn {test}(")), "{name} has no test {test:?}");
                named += 1;
            }
        }
    }
    assert!(named > 100, "only {named} tests are named: is the page still written that way?");
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

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        let name = entry.file_name().into_string().unwrap();
        if path.is_dir() && name == "tests" {
            // Tests may look at files; what ships may not.
        } else if path.is_dir() {
            files.extend(sources(&path));
        } else if name.ends_with(".rs") && !name.contains("tests") && !name.contains("testing") {
            files.push(path);
        }
    }
    files
}
