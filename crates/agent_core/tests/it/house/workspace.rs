//! The workspace as cargo knows it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use serde_json::Value;

use super::module_tree::ModuleTree;

/// A crate of ours.
pub(super) struct Member {
    pub(super) name: String,
    /// Where its manifest lies.
    pub(super) folder: PathBuf,
    /// What it needs to be built and to run; development aside.
    pub(super) uses: BTreeSet<String>,
    /// The root files of its library and its programs.
    roots: Vec<PathBuf>,
}

impl Member {
    /// The modules of its library and its programs.
    pub(super) fn trees(&self) -> Vec<ModuleTree> {
        let read = |path: &Path| std::fs::read_to_string(path).ok();
        self.roots.iter().map(|root| ModuleTree::read(root, &read)).collect()
    }
}

pub(super) struct Workspace {
    pub(super) root: PathBuf,
    pub(super) members: Vec<Member>,
    /// What each package of the whole graph uses at run time, by its id.
    uses: BTreeMap<String, Vec<String>>,
    names: BTreeMap<String, String>,
}

/// This one; asking cargo takes its time.
pub(super) static WORKSPACE: LazyLock<Workspace> = LazyLock::new(Workspace::load);

impl Workspace {
    fn load() -> Self {
        let host = rustc_host();
        let metadata =
            cargo(&["metadata", "--format-version", "1", "--locked", "--offline", "--filter-platform", &host]);
        let metadata: Value = serde_json::from_str(&metadata).unwrap();
        let ours: BTreeSet<_> = texts(&metadata["workspace_members"]).collect();
        let packages = metadata["packages"].as_array().unwrap();
        // A procedural macro runs when its user is built: what it needs is not in what ships.
        let macros: BTreeSet<_> =
            packages.iter().filter(|package| is_macro(package)).map(|it| text(&it["id"])).collect();
        let uses = metadata["resolve"]["nodes"].as_array().unwrap().iter().map(|node| {
            let used = node["deps"].as_array().unwrap().iter().filter(|used| {
                let kinds = used["dep_kinds"].as_array().unwrap();
                kinds.iter().any(|kind| kind["kind"].is_null()) && !macros.contains(&text(&used["pkg"]))
            });
            (text(&node["id"]), used.map(|used| text(&used["pkg"])).collect())
        });
        Self {
            root: text(&metadata["workspace_root"]).into(),
            members: packages.iter().filter(|package| ours.contains(&text(&package["id"]))).map(member).collect(),
            uses: uses.collect(),
            names: packages.iter().map(|package| (text(&package["id"]), text(&package["name"]))).collect(),
        }
    }

    pub(super) fn member(&self, name: &str) -> &Member {
        self.members.iter().find(|member| member.name == name).unwrap_or_else(|| panic!("there is no crate {name}"))
    }

    /// All packages that a crate of ours uses at run time, however far down.
    pub(super) fn reaches(&self, name: &str) -> BTreeSet<&str> {
        let begin = self.names.iter().filter(|(id, known)| *known == name && id.starts_with("path+"));
        let mut open: Vec<_> = begin.map(|(id, _)| id).collect();
        assert_eq!(open.len(), 1, "{name} is not one package of ours");
        let mut reached = BTreeSet::new();
        while let Some(id) = open.pop() {
            open.extend(self.uses[id].iter().filter(|used| reached.insert(*used)));
        }
        reached.into_iter().map(|id| self.names[id].as_str()).collect()
    }
}

fn member(package: &Value) -> Member {
    let dependencies = package["dependencies"].as_array().unwrap().iter();
    let uses = dependencies.filter(|used| used["kind"] != "dev").map(|used| text(&used["name"]));
    let targets = package["targets"].as_array().unwrap().iter();
    let ships = |target: &&Value| texts(&target["kind"]).any(|kind| ["lib", "bin"].contains(&kind.as_str()));
    Member {
        name: text(&package["name"]),
        folder: Path::new(&text(&package["manifest_path"])).parent().unwrap().to_owned(),
        uses: uses.collect(),
        roots: targets.filter(ships).map(|target| text(&target["src_path"]).into()).collect(),
    }
}

fn is_macro(package: &Value) -> bool {
    package["targets"].as_array().unwrap().iter().any(|target| texts(&target["kind"]).any(|kind| kind == "proc-macro"))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn texts(value: &Value) -> impl Iterator<Item = String> {
    value.as_array().unwrap().iter().map(text)
}

/// The platform whose packages are sure to be there: this one.
fn rustc_host() -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let told = run(Command::new(rustc).arg("-vV"));
    told.lines().find_map(|line| line.strip_prefix("host: ")).unwrap().to_owned()
}

fn cargo(arguments: &[&str]) -> String {
    run(Command::new(env!("CARGO")).args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")))
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
