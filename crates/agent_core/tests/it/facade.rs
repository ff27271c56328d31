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
    "task",
    "text",
    "tool",
];

/// The crates whose types the facade hands out.
const CRATES: &[&str] = &[
    "agent_core",
    "agent-archive",
    "agent-config",
    "agent-engine",
    "agent-library",
    "agent-llm",
    "agent-policy",
    "agent-protocol",
    "agent-redact",
    "agent-runtime",
    "agent-store",
    "agent-tasks",
    "agent-tool",
];

/// Types of other crates that share their name with one of ours: `std::path::Path`, `serde_json::Value`.
const FOREIGN: &[&str] = &["Path", "Value"];

/// What only whoever composes a runtime hands to an [`Archive`](agent_core::archive::Archive).
const COMPOSING: &[&str] = &["SecretPatterns", "SessionArchive", "SessionStore"];

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
        let shown: Vec<_> = exports().into_iter().filter(|(_, name)| name.contains(hidden)).collect();
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
    let (exports, mentions) = (exports(), mentions());
    let exported: BTreeSet<&str> = exports.iter().map(|(_, name)| name.as_str()).collect();
    let declared: BTreeSet<&str> = mentions.keys().map(|(_, name)| name.as_str()).collect();
    let mut missing = BTreeSet::new();
    for export in &exports {
        // What another crate re-exports is declared in one below it.
        let elsewhere = mentions.iter().filter(|((_, name), _)| *name == export.1).map(|(_, used)| used);
        let used: Vec<_> = mentions.get(export).map_or_else(|| elsewhere.collect(), |used| vec![used]);
        for used in used.into_iter().flatten().map(String::as_str) {
            let is_left_out = FOREIGN.contains(&used) || COMPOSING.contains(&used);
            if declared.contains(used) && !exported.contains(used) && !is_left_out {
                missing.insert(format!("{used}, which {} mentions", export.1));
            }
        }
    }
    assert!(missing.is_empty(), "not exported: {missing:#?}");
    assert!(exported.len() > 150, "only {} names were found: are the modules still written that way?", exported.len());
}

/// ERR-5: what to do next is said in the library's words; those of the command line are for the command, which adds them.
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
                let commands = ["run", "sessions", "replay", "cleanup", "memory", "tools", "config"];
                let commands = commands.map(|command| format!("soong-agent {command}"));
                let options = ["--path", "--session-id", "--debug", "--yes", "--all"];
                for word in options.into_iter().chain(commands.iter().map(String::as_str)) {
                    assert!(!line.contains(word), "{}: {line}", file.display());
                }
            }
        }
    }
}

/// A crate, as code spells it, and a type.
type Named = (String, String);

/// The types behind `pub use`, and those that the modules define, each with the crate it comes from.
fn exports() -> BTreeSet<Named> {
    let source = crates().join("agent_core/src");
    let mut names = BTreeSet::new();
    for module in MODULES.iter().chain(&["lib"]) {
        let text = std::fs::read_to_string(source.join(format!("{module}.rs"))).unwrap();
        for used in text.split("\npub use ").skip(1) {
            let list = used.split(';').next().unwrap();
            assert!(!list.contains(" as "), "{list}: a type has one name, that of its documentation");
            let from = list.split("::").next().unwrap();
            let from = if from.starts_with("agent_") { from } else { "agent_core" };
            names.extend(words(list).map(|name| (from.to_owned(), name.to_owned())));
        }
        names.extend(text.lines().filter_map(declared).map(|name| ("agent_core".to_owned(), name.to_owned())));
    }
    // Free functions are looked at like types.
    names.extend(mentions().into_keys().filter(|(from, name)| from == "agent_core" && name.starts_with("fn ")));
    names
}

/// The name of a public type that a line declares.
fn declared(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("pub ")?;
    let rest = ["struct ", "enum ", "trait ", "type "].iter().find_map(|kind| rest.strip_prefix(kind))?;
    words(rest).next()
}

/// The same of a line in a macro's braces: `pub struct Name {` of `section!`, `Name {` of `stored_enum!`.
fn declared_in_macro(line: &str) -> Option<&str> {
    let inner = line.strip_prefix("    ")?;
    let bare = inner.strip_suffix(" {").filter(|name| words(name).next() == Some(name));
    bare.or_else(|| declared(inner).filter(|name| inner.contains(&format!("{name} {{"))))
}

/// What each public type of our crates mentions: in its public fields and variants, in the public methods of its `impl`s.
fn mentions() -> BTreeMap<Named, BTreeSet<String>> {
    let mut all: BTreeMap<Named, BTreeSet<String>> = BTreeMap::new();
    for name in CRATES {
        for file in sources(&crates().join(name).join("src")) {
            let text = std::fs::read_to_string(&file).unwrap();
            for (item, used) in mentions_in(&text) {
                let item = (name.replace('-', "_"), item);
                all.entry(item).or_default().extend(used.iter().flat_map(|line| words(line)).map(str::to_owned));
            }
        }
    }
    all
}

/// The lines in which an item of a file mentions what a user must be able to name. The files are as rustfmt writes them.
fn mentions_in(text: &str) -> Vec<(String, Vec<&str>)> {
    let mut found: Vec<(String, Vec<&str>)> = Vec::new();
    let mut kind = None;
    let mut in_signature = false;
    for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
        if let Some((name, begun)) = begins(line) {
            found.push((name, head(line).into_iter().collect()));
            kind = (!line.ends_with([';', '}'])).then_some(begun);
            in_signature = begun == Kind::Function && !line.ends_with('{');
            continue;
        }
        let Some(at) = kind else {
            found.extend(declared_in_macro(line).map(|name| (name.to_owned(), Vec::new())));
            continue;
        };
        if line.starts_with('}') {
            kind = None;
            continue;
        }
        let inner = line.trim_start();
        let depth = line.len() - inner.len();
        let used = match at {
            Kind::Struct => (depth == 4).then(|| inner.strip_prefix("pub ")).flatten(),
            // The first word of a variant is its own name.
            Kind::Enum if depth == 4 => inner.split_once('(').map(|(_, fields)| fields),
            Kind::Enum => inner.starts_with(|c: char| c.is_ascii_lowercase()).then_some(inner),
            Kind::Trait => (in_signature || (depth == 4 && inner.starts_with("fn "))).then_some(inner),
            Kind::Impl => {
                (in_signature || (depth == 4 && inner.starts_with("pub ") && inner.contains("fn "))).then_some(inner)
            }
            Kind::Function => in_signature.then_some(inner),
        };
        let Some(used) = used else { continue };
        in_signature = !matches!(at, Kind::Struct | Kind::Enum) && !inner.ends_with(['{', ';', '}']);
        if let Some((_, mentioned)) = found.last_mut() {
            mentioned.push(used);
        }
    }
    found
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Struct,
    Enum,
    Trait,
    Impl,
    Function,
}

/// What a line begins to describe.
fn begins(line: &str) -> Option<(String, Kind)> {
    if let Some(rest) = line.strip_prefix("pub fn ").or_else(|| line.strip_prefix("pub async fn ")) {
        let name = rest.split(['(', '<']).next()?;
        return Some((format!("fn {name}"), Kind::Function));
    }
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

/// What the first line of a declaration mentions: of a function its signature, of a tuple struct its public fields, of an
/// alias what it stands for.
fn head(line: &str) -> Option<&str> {
    if line.starts_with("pub fn ") || line.starts_with("pub async fn ") {
        return Some(line);
    }
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
