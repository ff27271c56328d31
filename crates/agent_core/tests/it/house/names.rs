//! What a path means: which module of the crate defines what it names, through imports, re-exports and globs; or what it is
//! called outside.

use std::collections::HashSet;

use super::module_tree::{Import, ModuleTree};

/// What a path leads to. A name may be a module and an item at once (`mod near` and `fn near`).
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) module: Option<usize>,
    /// The module that defines the item.
    pub(super) item: Option<usize>,
    /// It is known, and leads out of the crate.
    pub(super) is_outside: bool,
}

impl Found {
    fn module(module: Option<usize>) -> Self {
        Self { module, ..Self::default() }
    }

    fn is_inside(self) -> bool {
        self.module.is_some() || self.item.is_some()
    }

    fn or(self, other: Self) -> Self {
        Self {
            module: self.module.or(other.module),
            item: self.item.or(other.item),
            is_outside: self.is_outside || other.is_outside,
        }
    }
}

/// Names that are being looked up: what leads back to one of them leads nowhere.
type Visited = HashSet<(usize, String)>;

impl ModuleTree {
    /// What a path written in a module means; nothing where it leads out of the crate.
    pub(super) fn resolve(&self, module: usize, written: &[String]) -> Found {
        self.resolve_path(module, written, &mut Visited::new())
    }

    /// What the crate names outside of itself, each with the module that does: `std::fs::read` where one says `fs::read` after
    /// `use std::fs`. A glob ends with `*`.
    pub(super) fn outside(&self) -> Vec<(usize, String)> {
        let mut named = Vec::new();
        for (module, scope) in self.modules.iter().enumerate() {
            let imported = scope.imports.iter().map(|import| match import.name {
                Some(_) => import.target.clone(),
                None => import.target.iter().cloned().chain(["*".to_owned()]).collect(),
            });
            for written in scope.mentions.iter().cloned().chain(imported) {
                if !self.resolve(module, &written).is_inside() {
                    named.push((module, self.whole_name(module, &written)));
                }
            }
        }
        named
    }

    /// A path that leads out of the crate, as it is called there.
    fn whole_name(&self, mut module: usize, written: &[String]) -> String {
        let mut whole = written.to_vec();
        let mut replaced = HashSet::new();
        while let Some(first) = whole.first().cloned() {
            let place = match first.as_str() {
                "crate" => Some(0),
                "self" => Some(module),
                "super" => self.modules[module].parent,
                name => self.modules[module].children.get(name).copied(),
            };
            if let Some(place) = place {
                module = place;
                whole.remove(0);
            } else if let Some((place, import)) = self.import_of(module, &first)
                && replaced.insert((place, first))
            {
                module = place;
                whole.splice(..1, import.target.iter().cloned());
            } else {
                break;
            }
        }
        whole.retain(|name| !name.is_empty());
        whole.join("::")
    }

    /// Which import a name comes from: one of the module, or of a module that it takes all names of.
    fn import_of(&self, module: usize, name: &str) -> Option<(usize, &Import)> {
        let named = |module: usize| {
            let mut imports = self.modules[module].imports.iter();
            imports.find(|import| import.name.as_deref() == Some(name)).map(|import| (module, import))
        };
        let globs = self.modules[module].imports.iter().filter(|import| import.name.is_none());
        let mut targets = globs.filter_map(|import| self.resolve(module, &import.target).module);
        named(module).or_else(|| targets.find_map(named))
    }

    fn resolve_path(&self, module: usize, written: &[String], visited: &mut Visited) -> Found {
        let Some((first, rest)) = written.split_first() else { return Found::module(Some(module)) };
        let begin = match first.as_str() {
            "" => return Found::default(),
            "crate" => Found::module(Some(0)),
            "self" => Found::module(Some(module)),
            "super" => Found::module(self.modules[module].parent),
            name => self.lookup(module, name, visited),
        };
        self.descend(begin, rest, visited)
    }

    fn descend(&self, mut found: Found, rest: &[String], visited: &mut Visited) -> Found {
        for name in rest {
            let Some(module) = found.module else { break };
            if name == "super" {
                found = Found::module(self.modules[module].parent);
                continue;
            }
            let next = self.lookup(module, name, visited);
            // What a macro makes is its module's.
            let made = Found { item: Some(module), ..Found::default() };
            found = if next.is_inside() || next.is_outside { next } else { made };
        }
        found
    }

    /// A name in the scope of a module.
    fn lookup(&self, module: usize, name: &str, visited: &mut Visited) -> Found {
        if !visited.insert((module, name.to_owned())) {
            return Found::default();
        }
        let scope = &self.modules[module];
        let mut found = Found {
            module: scope.children.get(name).copied(),
            item: scope.items.contains(name).then_some(module),
            is_outside: false,
        };
        for import in scope.imports.iter().filter(|import| import.name.as_deref() == Some(name)) {
            let target = self.resolve_path(module, &import.target, visited);
            found = found.or(Found { is_outside: !target.is_inside(), ..target });
        }
        if !found.is_inside() && !found.is_outside {
            for import in scope.imports.iter().filter(|import| import.name.is_none()) {
                let target = self.resolve_path(module, &import.target, visited);
                if let Some(target) = target.module {
                    found = found.or(self.lookup(target, name, visited));
                }
            }
        }
        visited.remove(&(module, name.to_owned()));
        found
    }
}
