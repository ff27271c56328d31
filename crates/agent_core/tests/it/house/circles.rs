//! Which modules use which, and the circles among them: at each level of the tree, between a module's own code and its children.

use std::collections::{BTreeMap, BTreeSet};

use super::module_tree::ModuleTree;

/// Who uses whom, each with a path that says so.
pub(super) type Uses = BTreeMap<(usize, usize), String>;

impl ModuleTree {
    /// Which module uses what another one defines. A parent that hands on what lies below it does not use it.
    pub(super) fn uses(&self) -> Uses {
        let mut uses = Uses::new();
        for (module, scope) in self.modules.iter().enumerate() {
            let mut add = |target: Option<usize>, written: &[String]| {
                if let Some(target) = target.filter(|target| *target != module) {
                    uses.entry((module, target)).or_insert_with(|| written.join("::"));
                }
            };
            for written in &scope.mentions {
                add(self.resolve(module, written).item, written);
            }
            for name in &scope.calls {
                let name = std::slice::from_ref(name);
                let found = self.resolve(module, name);
                add(found.item.or_else(|| self.macro_called(&name[0]).filter(|_| !found.is_outside)), name);
            }
            for import in &scope.imports {
                let found = self.resolve(module, &import.target);
                // What a glob brings is found by its use; methods of traits are not, so it uses the module itself as well.
                let of_glob = || found.module.filter(|_| import.name.is_none());
                let of_glob = || of_glob().filter(|target| !self.modules[*target].items.is_empty());
                let target = found.item.or_else(of_glob);
                add(
                    target.filter(|target| !(import.public && self.ancestors(*target).any(|above| above == module))),
                    &import.target,
                );
            }
        }
        uses
    }

    /// Where a macro is defined that is called without an import. Within a crate, no two share a name.
    fn macro_called(&self, name: &str) -> Option<usize> {
        self.modules.iter().position(|module| module.macros.contains(name))
    }

    /// Every circle, told by the modules in it and what leads from each to the next.
    pub(super) fn circles(&self) -> Vec<String> {
        let mut levels: BTreeMap<usize, BTreeMap<(usize, usize), String>> = BTreeMap::new();
        for ((from, to), written) in self.uses() {
            let above: Vec<_> = self.ancestors(to).collect();
            let level = self.ancestors(from).find(|module| above.contains(module)).unwrap_or(0);
            // The level's own code stands for itself, anything else for the child it lies in.
            let part = |module| self.ancestors(module).take_while(|above| *above != level).last().unwrap_or(level);
            let told = format!("{} names {written}", self.path(from));
            levels.entry(level).or_default().entry((part(from), part(to))).or_insert(told);
        }
        levels.into_values().flat_map(|uses| self.circles_of(&uses)).collect()
    }

    fn circles_of(&self, uses: &BTreeMap<(usize, usize), String>) -> Vec<String> {
        let mut told = Vec::new();
        let mut seen = BTreeSet::new();
        for begin in uses.keys().map(|(from, _)| *from) {
            if let Some(circle) = circle_from(begin, uses)
                && circle.iter().all(|module| !seen.contains(module))
            {
                let names: Vec<_> = circle.iter().map(|module| self.path(*module)).collect();
                let next = circle.iter().skip(1).chain(&circle[..1]);
                let why: Vec<_> = circle.iter().zip(next).map(|(from, to)| uses[&(*from, *to)].clone()).collect();
                told.push(format!("{} ({})", names.join(" -> "), why.join("; ")));
                seen.extend(circle);
            }
        }
        told
    }
}

/// The shortest way from a module back to itself.
fn circle_from(begin: usize, uses: &BTreeMap<(usize, usize), String>) -> Option<Vec<usize>> {
    let mut ways = vec![vec![begin]];
    let mut reached = BTreeSet::new();
    while !ways.is_empty() {
        let mut longer = Vec::new();
        for way in ways {
            let last = way[way.len() - 1];
            for (_, to) in uses.keys().filter(|(from, _)| *from == last) {
                if *to == begin {
                    return Some(way);
                }
                if reached.insert(*to) {
                    longer.push(way.iter().copied().chain([*to]).collect());
                }
            }
        }
        ways = longer;
    }
    None
}
