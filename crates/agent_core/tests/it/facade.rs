//! The shape of the public surface (API-1): what a program can name, and what it is told.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The modules whose `pub use` lines, with those of `lib.rs`, are the public surface.
const MODULES: &[&str] = &[
    "archive",
    "config",
    "error",
    "event",
    "id",
    "memory",
    "message",
    "model",
    "permission",
    "runtime",
    "session",
    "text",
    "tool",
];

/// The crates whose types the facade hands out.
const CRATES: &[&str] = &[
    "agent_core",
    "agent-config",
    "agent-engine",
    "agent-library",
    "agent-llm",
    "agent-policy",
    "agent-protocol",
    "agent-runtime",
    "agent-store",
    "agent-tools",
];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The stable names, each at the root.
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
    for hidden in ["rusqlite", "reqwest", "SqliteStore", "Row"] {
        let shown: Vec<_> = exported().into_iter().filter(|name| name.contains(hidden)).collect();
        assert!(shown.is_empty(), "{shown:?} is public");
    }
}

#[test]
fn a_runtime_is_shared_by_cloning_it() {
    fn shared<T: Clone + Send + Sync + 'static>() {}
    shared::<agent_core::AgentRuntime>();
    shared::<agent_core::archive::Archive>();
    shared::<agent_core::config::Location>();
    shared::<agent_core::memory::Memories>();
    fn sent<T: Send + Sync + 'static>() {}
    sent::<agent_core::RunHandle>();
    sent::<agent_core::error::BuildError>();
    sent::<agent_core::error::RuntimeError>();
}

/// Every type that a public type, function or trait of the facade mentions can be named through the facade.
#[test]
fn every_type_of_a_public_signature_is_exported() {
    let exported = exported();
    let mentions = mentions();
    let declared: BTreeSet<&str> = mentions.keys().map(String::as_str).collect();
    let mut missing = BTreeSet::new();
    for name in &exported {
        for used in mentions.get(name).into_iter().flatten() {
            if declared.contains(used.as_str()) && !exported.contains(used) {
                missing.insert(format!("{used}, which {name} mentions"));
            }
        }
    }
    assert!(missing.is_empty(), "not exported: {missing:#?}");
    assert!(exported.len() > 150, "only {} names were found: are the modules still written that way?", exported.len());
}

/// Words of the command line are for the command, which adds them itself.
#[test]
fn the_library_does_not_speak_of_the_command_line() {
    for name in CRATES {
        for file in sources(&crates().join(name).join("src")) {
            // The reference of the configuration is a page for people.
            if file.ends_with("agent-config/src/reference.rs") {
                continue;
            }
            let text = std::fs::read_to_string(&file).unwrap();
            let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            for line in code.filter(|line| line.contains('"') || line.contains('`')) {
                for word in ["soong-agent run", "soong-agent config", "soong-agent sessions", "--path", "--session-id"]
                {
                    assert!(!line.contains(word), "{}: {line}", file.display());
                }
            }
        }
    }
}

/// The names behind `pub use`, and those that the modules define.
fn exported() -> BTreeSet<String> {
    let source = crates().join("agent_core/src");
    let mut names = BTreeSet::new();
    for module in MODULES.iter().chain(&["lib"]) {
        let text = std::fs::read_to_string(source.join(format!("{module}.rs"))).unwrap();
        for used in text.split("\npub use ").skip(1) {
            let list = used.split(';').next().unwrap();
            names.extend(words(list).map(str::to_owned));
        }
        for line in text.lines() {
            names.extend(declared(line).map(str::to_owned));
        }
    }
    names
}

/// The name of a public type that a line declares.
fn declared(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("pub ")?;
    let rest = ["struct ", "enum ", "trait ", "type "].iter().find_map(|kind| rest.strip_prefix(kind))?;
    words(rest).next()
}

/// What each public type of our crates mentions: in its public fields and variants, in the public methods of its `impl`s.
fn mentions() -> BTreeMap<String, BTreeSet<String>> {
    let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in CRATES.iter().flat_map(|name| sources(&crates().join(name).join("src"))) {
        let text = std::fs::read_to_string(&file).unwrap();
        let mut item: Option<(String, Kind)> = None;
        let mut in_signature = false;
        for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
            if let Some(begun) = begins(line) {
                if let Some(used) = head(line) {
                    all.entry(begun.0.clone()).or_default().extend(words(used).map(str::to_owned));
                } else if begun.1 != Kind::Impl {
                    all.entry(begun.0.clone()).or_default();
                }
                item = (!line.ends_with(';') && !line.ends_with('}')).then_some(begun);
                continue;
            }
            let Some((name, kind)) = &item else { continue };
            if line.starts_with('}') {
                item = None;
                continue;
            }
            let inner = line.trim_start();
            let depth = line.len() - inner.len();
            let begins_here = match kind {
                Kind::Struct => inner.starts_with("pub ") && depth == 4,
                Kind::Enum => !inner.starts_with('#'),
                Kind::Trait => depth == 4 && inner.starts_with("fn "),
                Kind::Impl => depth == 4 && inner.starts_with("pub ") && inner.contains("fn "),
            };
            if begins_here || in_signature {
                all.entry(name.clone()).or_default().extend(words(inner).map(str::to_owned));
                let is_function = matches!(kind, Kind::Trait | Kind::Impl);
                in_signature = is_function && !inner.ends_with('{') && !inner.ends_with(';') && !inner.ends_with('}');
            }
        }
    }
    all
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Struct,
    Enum,
    Trait,
    Impl,
}

/// The type that a line begins to describe.
fn begins(line: &str) -> Option<(String, Kind)> {
    if let Some(rest) = line.strip_prefix("impl") {
        // Of an `impl Trait for Type` nothing is public but what the trait says.
        let own = !line.contains(" for ");
        let rest = rest.strip_prefix('<').map_or(Some(rest), |rest| rest.split_once('>').map(|(_, rest)| rest))?;
        return own.then(|| words(rest).next().map(|name| (name.to_owned(), Kind::Impl))).flatten();
    }
    let name = declared(line)?.to_owned();
    let kind = line.strip_prefix("pub ")?.split(' ').next()?;
    Some((
        name,
        match kind {
            "enum" => Kind::Enum,
            "trait" => Kind::Trait,
            _ => Kind::Struct,
        },
    ))
}

/// What a declaration on one line mentions: the public fields of a tuple struct, or what a type stands for.
fn head(line: &str) -> Option<&str> {
    let alias = line.starts_with("pub type ").then(|| line.split_once('=').map(|(_, used)| used)).flatten();
    alias.or_else(|| line.split_once("(pub ").map(|(_, fields)| fields))
}

/// Words that begin like a type.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let code = text.split("//").next().unwrap_or_default();
    code.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| word.starts_with(|c: char| c.is_ascii_uppercase()))
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        let name = entry.file_name().into_string().unwrap();
        if path.is_dir() && name == "tests" {
            // Tests are not public.
        } else if path.is_dir() {
            files.extend(sources(&path));
        } else if name.ends_with(".rs") && !name.contains("tests") && !name.contains("testing") {
            files.push(path);
        }
    }
    files
}
