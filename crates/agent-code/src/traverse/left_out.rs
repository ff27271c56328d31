//! What a pass through a tree leaves out, so that it can be named.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use agent_redact::{KnownSecrets, shorten};

/// So many are named; the others are counted.
const NAMED: usize = 3;
/// So much of a path is told.
const COLUMNS: usize = 160;

/// Entries of one kind that were left out: how many, and the first of them by path, each with what is said of it.
#[derive(Debug, Default)]
pub(crate) struct LeftOut(Mutex<Few>);

/// The same, once the pass is over.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Few {
    pub(crate) count: u64,
    first: BTreeMap<PathBuf, &'static str>,
}

impl LeftOut {
    pub(crate) fn add(&self, path: &Path, why: &'static str) {
        self.lock().add(path, why);
    }

    pub(crate) fn few(&self) -> Few {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Few> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Few {
    pub(crate) fn add(&mut self, path: &Path, why: &'static str) {
        self.count += 1;
        let is_among_the_first =
            self.first.len() < NAMED || self.first.last_key_value().is_some_and(|(last, _)| path < last);
        if is_among_the_first {
            self.first.insert(path.to_owned(), why);
            if self.first.len() > NAMED {
                self.first.pop_last();
            }
        }
    }

    /// Takes in what another pass left out.
    pub(crate) fn join(&mut self, other: Self) {
        let unnamed = other.count - other.first.len() as u64;
        for (path, why) in other.first {
            self.add(&path, why);
        }
        self.count += unnamed;
    }

    /// `kind: a, b (why), …`, with the number in front; nothing if there are none. Known secrets go before a name is cut: a piece of one
    /// would not be recognised any more.
    pub(crate) fn named(&self, kind: &str, secrets: &KnownSecrets, show: impl Fn(&Path) -> String) -> Option<String> {
        if self.count == 0 {
            return None;
        }
        let mut names: Vec<_> = self
            .first
            .iter()
            .map(|(path, why)| {
                let shown = show(path);
                let shown = secrets.redact(&shown).text;
                let shown = shorten(&shown, COLUMNS);
                if why.is_empty() { shown.into_owned() } else { format!("{shown} ({why})") }
            })
            .collect();
        if self.count > self.first.len() as u64 {
            names.push("…".to_owned());
        }
        Some(format!("{} {kind}: {}", self.count, names.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(crate::testing::cases(128))]

        /// FND-24: whatever order they come in, all are counted and the first ones are named.
        #[test]
        fn the_first_ones_are_named(names in prop::collection::btree_set("[a-z]{1,4}", 0..10), by in 0usize..10) {
            let mut shuffled: Vec<_> = names.iter().cloned().collect();
            if !shuffled.is_empty() {
                let by = by % shuffled.len();
                shuffled.rotate_left(by);
            }
            let left_out = LeftOut::default();
            for name in &shuffled {
                left_out.add(Path::new(name), "");
            }
            let more = if names.len() > NAMED { ", …" } else { "" };
            let first: Vec<_> = names.iter().take(NAMED).cloned().collect();
            let expected = (!names.is_empty()).then(|| format!("{} unreadable: {}{more}", names.len(), first.join(", ")));
            prop_assert_eq!(left_out.few().named("unreadable", &KnownSecrets::none(), |path| path.display().to_string()), expected);
        }
    }

    /// STO-10: wherever a key lies in a path that is cut, no piece of it is left.
    #[test]
    fn cuts_show_no_piece_of_a_key() {
        const KEY: &str = "sk-Zq7Jm2Xw9Lp4Rt6Bv8Ns3";
        let secrets = KnownSecrets::new([("KEY", KEY)]).unwrap();
        for before in 0..COLUMNS + 10 {
            let left_out = LeftOut::default();
            left_out.add(Path::new(&format!("{}{KEY}/{}", "a".repeat(before), "z".repeat(COLUMNS))), "");
            let told = left_out.few().named("ignored", &secrets, |path| path.display().to_string()).unwrap();
            assert!((4..KEY.len()).all(|length| !told.contains(&KEY[..length])), "{before}: {told}");
        }
    }
}
