//! The modules of a crate as its sources declare them: what each defines, imports and names. What is compiled for tests only is
//! left out, wherever in a file it stands.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use syn::punctuated::Punctuated;
use syn::{Attribute, Item, Lit, Meta, Token};

use super::mentions;

/// A path as it is written: `crate::a::B` is `["crate", "a", "B"]`, `::a` begins with an empty name.
pub(super) type Written = Vec<String>;

#[derive(Debug, Default)]
pub(super) struct Module {
    pub(super) name: String,
    pub(super) parent: Option<usize>,
    pub(super) children: BTreeMap<String, usize>,
    /// The names of what it defines itself, modules aside.
    pub(super) items: BTreeSet<String>,
    /// Those of them that are macros: they may be called without an import.
    pub(super) macros: BTreeSet<String>,
    pub(super) imports: Vec<Import>,
    /// Paths in its code, imports aside.
    pub(super) mentions: BTreeSet<Written>,
    /// Macros that it calls by their mere name.
    pub(super) calls: BTreeSet<String>,
}

#[derive(Debug)]
pub(super) struct Import {
    /// The name here; none for a glob.
    pub(super) name: Option<String>,
    pub(super) target: Written,
    /// Is it handed on to others?
    pub(super) public: bool,
}

/// The modules of one target (a library or a program). The first one is its root.
pub(super) struct ModuleTree {
    pub(super) modules: Vec<Module>,
}

impl ModuleTree {
    /// Reads a target from its root file on. `read` is asked for files and says nothing where there is none.
    pub(super) fn read(root: &Path, read: &dyn Fn(&Path) -> Option<String>) -> Self {
        let mut tree = Self { modules: vec![Module { name: "crate".to_owned(), ..Module::default() }] };
        let text = read(root).unwrap_or_else(|| panic!("{} cannot be read", root.display()));
        let folder = root.parent().unwrap().to_owned();
        tree.file(0, &text, root, folder, read);
        tree
    }

    /// The name of a module from the root: `crate::run::types`.
    pub(super) fn path(&self, module: usize) -> String {
        match self.modules[module].parent {
            None => self.modules[module].name.clone(),
            Some(parent) => format!("{}::{}", self.path(parent), self.modules[module].name),
        }
    }

    /// The module and all it lies in, the root last.
    pub(super) fn ancestors(&self, module: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(module), |module| self.modules[*module].parent)
    }

    fn file(
        &mut self,
        module: usize,
        text: &str,
        file: &Path,
        folder: PathBuf,
        read: &dyn Fn(&Path) -> Option<String>,
    ) {
        let parsed = syn::parse_file(text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        if !only_for_tests(&parsed.attrs) {
            self.items(module, &parsed.items, file, &folder, read);
        }
    }

    /// `folder` is where the files of child modules lie.
    fn items(
        &mut self,
        module: usize,
        items: &[Item],
        file: &Path,
        folder: &Path,
        read: &dyn Fn(&Path) -> Option<String>,
    ) {
        for item in items {
            if let Item::Mod(child) = item {
                if only_for_tests(&child.attrs) {
                    continue;
                }
                let name = child.ident.to_string();
                let index = self.modules.len();
                self.modules.push(Module { name: name.clone(), parent: Some(module), ..Module::default() });
                self.modules[module].children.insert(name.clone(), index);
                if let Some((_, items)) = &child.content {
                    self.items(index, items, file, &folder.join(&name), read);
                } else {
                    let places = match path_attribute(&child.attrs) {
                        Some(path) => vec![(file.parent().unwrap().join(&path), file.parent().unwrap().join(path))],
                        None => vec![
                            (folder.join(format!("{name}.rs")), folder.join(&name)),
                            (folder.join(&name).join("mod.rs"), folder.join(&name)),
                        ],
                    };
                    let found = places.into_iter().find_map(|(place, below)| Some((read(&place)?, place, below)));
                    let (text, place, below) =
                        found.unwrap_or_else(|| panic!("{}: no file for `mod {name}`", file.display()));
                    self.file(index, &text, &place, below, read);
                }
            } else {
                mentions::of_item(item, &mut self.modules[module]);
            }
        }
    }
}

fn path_attribute(attributes: &[Attribute]) -> Option<String> {
    attributes.iter().find_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
            syn::Expr::Lit(syn::ExprLit { lit: Lit::Str(path), .. }) => Some(path.value()),
            _ => None,
        },
        _ => None,
    })
}

/// Is this compiled in test builds alone?
pub(super) fn only_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) if list.path.is_ident("cfg") => list.parse_args().is_ok_and(|meta| needs_test(&meta)),
        _ => false,
    })
}

/// `test`, `all(test, unix)`, but not `any(test, feature = "testing")`: that ships with the feature.
fn needs_test(condition: &Meta) -> bool {
    match condition {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) => {
            let parts = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated).unwrap_or_default();
            (list.path.is_ident("all") && parts.iter().any(needs_test))
                || (list.path.is_ident("any") && !parts.is_empty() && parts.iter().all(needs_test))
        }
        Meta::NameValue(_) => false,
    }
}
