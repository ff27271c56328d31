//! Putting together what many threads find, so that the result does not depend on their order.

use std::{
    collections::{BTreeMap, HashSet},
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::file::{Hit, Outcome, Reading};
use crate::traverse::Few;

/// Remembering more files than this would cost too much memory.
const MAX_REMEMBERED: usize = 1_000_000;

/// Keeps the first hits by path and line, in memory that grows with their number only. Lines that hold the query as plain
/// text come before all others.
#[derive(Debug)]
pub(crate) struct Collector {
    limit: usize,
    /// Whether lines may hold the query as plain text, or as something else.
    has_readings: bool,
    state: Mutex<State>,
}

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct State {
    files: BTreeMap<Place, Vec<Hit>>,
    hits: usize,
    /// Whether there are lines of each reading, kept or not.
    pub(crate) readings: Readings,
    /// Whether there are more hits than are kept.
    pub(crate) overflow: bool,
    pub(crate) counts: Counts,
    pub(crate) stopped: bool,
    /// Hashes of the paths that were searched; `None` once that is of no use.
    pub(crate) searched: Option<HashSet<u64>>,
}

/// In this order: whether the lines are no plain text, and the file.
type Place = (bool, PathBuf);

/// Which readings of the query lines were found by.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Readings {
    pub(crate) text: bool,
    pub(crate) both: bool,
    pub(crate) pattern: bool,
}

/// What became of the files.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counts {
    pub(crate) searched: u64,
    pub(crate) binary: Few,
    pub(crate) too_big: Few,
    /// Searched up to a line that is too long.
    pub(crate) long_line: Few,
    pub(crate) unreadable: Few,
    /// Files with hits that are sensitive under another name.
    pub(crate) second_names: u64,
}

impl Collector {
    pub(crate) fn new(limit: usize, has_readings: bool) -> Self {
        Self { limit, has_readings, state: Mutex::new(State { searched: Some(HashSet::new()), ..State::default() }) }
    }

    /// Whether a file can add nothing: there are enough hits before it, and it is known that there are more.
    pub(crate) fn is_settled_before(&self, path: &Path) -> bool {
        let state = self.lock();
        let best = !self.has_readings;
        let last = state.files.last_key_value().map(|((rank, last), _)| (*rank, last.as_path()));
        state.overflow && state.hits >= self.limit && last.is_some_and(|last| last < (best, path))
    }

    pub(crate) fn add(&self, path: &Path, outcome: Outcome) {
        let mut state = self.lock();
        match outcome {
            Outcome::Searched { hits, is_whole } => {
                state.counts.searched += 1;
                if !is_whole {
                    state.counts.long_line.add(path, "");
                }
                state.remember(path);
                state.insert(path, hits, self.limit);
            }
            Outcome::Binary => {
                state.counts.binary.add(path, "");
                state.remember(path);
            }
            Outcome::SecondName => {
                state.counts.second_names += 1;
                state.remember(path);
            }
            Outcome::TooBig => state.counts.too_big.add(path, ""),
            Outcome::Unreadable => state.counts.unreadable.add(path, ""),
            Outcome::Stopped => state.stopped = true,
        }
    }

    pub(crate) fn stopped(&self) {
        self.lock().stopped = true;
    }

    pub(crate) fn finish(self) -> State {
        self.state.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn remember(&mut self, path: &Path) {
        if let Some(searched) = &mut self.searched {
            searched.insert(key(path));
            if searched.len() > MAX_REMEMBERED {
                self.searched = None;
            }
        }
    }

    fn insert(&mut self, path: &Path, hits: Vec<Hit>, limit: usize) {
        if hits.is_empty() {
            return;
        }
        // Only a search without hits asks what was searched.
        self.searched = None;
        self.hits += hits.len();
        for hit in &hits {
            match hit.reading {
                Reading::Text => self.readings.text = true,
                Reading::Both => self.readings.both = true,
                Reading::Pattern => self.readings.pattern = true,
            }
        }
        let (texts, others): (Vec<_>, Vec<_>) = hits.into_iter().partition(|hit| hit.reading.is_text());
        for (rank, hits) in [(false, texts), (true, others)] {
            if !hits.is_empty() {
                self.files.insert((rank, path.to_owned()), hits);
            }
        }
        while self.hits > limit {
            self.overflow = true;
            let Some(mut last) = self.files.last_entry() else { return };
            let surplus = self.hits - limit;
            let hits = last.get_mut();
            if hits.len() > surplus {
                hits.truncate(hits.len() - surplus);
                self.hits = limit;
            } else {
                self.hits -= hits.len();
                last.remove();
            }
        }
    }

    pub(crate) fn hit_count(&self) -> usize {
        self.hits
    }

    /// The paths of the hits.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.values().flatten().map(|hit| hit.path.as_str())
    }

    /// The hits, by reading, path and line.
    pub(crate) fn into_hits(self) -> Vec<Hit> {
        self.files.into_values().flatten().collect()
    }
}

/// What a path is remembered by.
pub(crate) fn key(path: &Path) -> u64 {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hit(path: &str, line: u64) -> Hit {
        Hit { path: path.to_owned(), line, column: 1, text: String::new(), lossy: false, reading: Reading::Pattern }
    }

    /// FND-22: lines that hold the text itself come first, wherever they are and however many others there are.
    #[test]
    fn texts_come_first() {
        let collector = Collector::new(3, true);
        for (path, reading) in [("a", Reading::Pattern), ("b", Reading::Pattern), ("z", Reading::Text)] {
            assert!(!collector.is_settled_before(Path::new(path)), "{path}");
            let hits = (1..=2).map(|line| Hit { reading, ..hit(path, line) }).collect();
            collector.add(Path::new(path), Outcome::Searched { hits, is_whole: true });
        }
        let state = collector.finish();
        assert!(state.overflow && state.readings.text && state.readings.pattern && !state.readings.both);
        let places: Vec<_> = state.into_hits().into_iter().map(|hit| (hit.path, hit.line)).collect();
        assert_eq!(places, [("z".to_owned(), 1), ("z".to_owned(), 2), ("a".to_owned(), 1)]);
    }

    proptest! {
        #![proptest_config(crate::testing::cases(256))]

        /// However the files come in, the first hits are kept, and more hits are known to be there if and only if they
        /// are.
        #[test]
        fn the_first_hits_are_kept(
            files in proptest::collection::btree_map("[a-e]{1,3}", 0u64..5, 0..8),
            order in any::<proptest::sample::Index>(),
            limit in 1usize..8,
        ) {
            let all: Vec<Hit> = files.iter().flat_map(|(path, n)| (1..=*n).map(|line| hit(path, line))).collect();
            let mut names: Vec<&String> = files.keys().collect();
            if !names.is_empty() {
                let middle = order.index(names.len());
                names.rotate_left(middle);
                names.reverse();
            }
            let collector = Collector::new(limit, false);
            for name in names {
                let path = Path::new(name);
                if !collector.is_settled_before(path) {
                    let hits = (1..=files[name]).take(limit + 1).map(|line| hit(name, line)).collect();
                    collector.add(path, Outcome::Searched { hits, is_whole: true });
                }
            }
            let state = collector.finish();
            prop_assert_eq!(state.overflow, all.len() > limit);
            prop_assert_eq!(state.into_hits(), all.into_iter().take(limit).collect::<Vec<_>>());
        }
    }
}
