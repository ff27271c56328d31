//! A set of places: a bit for each, so that a step changes its state without looking for anything, however many there are.

/// The place of a step: steps are numbered in the order in which they were added. A place is never given twice.
pub(crate) type Slot = u32;

#[derive(Debug, Clone, Default)]
pub(crate) struct Slots {
    words: Vec<u64>,
    len: usize,
}

impl Slots {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn insert(&mut self, slot: Slot) {
        let (word, bit) = place(slot);
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.len += usize::from(self.words[word] & bit == 0);
        self.words[word] |= bit;
    }

    pub(super) fn remove(&mut self, slot: Slot) {
        let (word, bit) = place(slot);
        if let Some(word) = self.words.get_mut(word).filter(|word| **word & bit != 0) {
            *word &= !bit;
            self.len -= 1;
        }
    }

    pub(super) fn first(&self) -> Option<Slot> {
        if self.is_empty() { None } else { self.iter().next() }
    }

    /// In their order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Slot> {
        let words = if self.is_empty() { &[] } else { self.words.as_slice() };
        (0..).zip(words).filter(|(_, word)| **word != 0).flat_map(|(at, word): (Slot, _)| {
            let next = |left: &u64| Some(left & left.wrapping_sub(1)).filter(|left| *left != 0);
            std::iter::successors(Some(*word), next).map(move |left| at * u64::BITS + left.trailing_zeros())
        })
    }
}

fn place(slot: Slot) -> (usize, u64) {
    ((slot / u64::BITS) as usize, 1 << (slot % u64::BITS))
}

impl PartialEq for Slots {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.iter().eq(other.iter())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// PERF-6: it holds what was put in and not taken out, in order.
        #[test]
        fn they_are_a_set(changes in prop::collection::vec((any::<bool>(), 0..200_u32), 0..300)) {
            let (mut slots, mut set) = (Slots::default(), BTreeSet::new());
            for (is_new, slot) in changes {
                if is_new {
                    slots.insert(slot);
                    set.insert(slot);
                } else {
                    slots.remove(slot);
                    set.remove(&slot);
                }
                prop_assert_eq!(slots.iter().collect::<Vec<_>>(), set.iter().copied().collect::<Vec<_>>());
                prop_assert_eq!((slots.len(), slots.first()), (set.len(), set.first().copied()));
                prop_assert_eq!(slots.is_empty(), set.is_empty());
            }
        }
    }
}
