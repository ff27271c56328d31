//! Where two texts differ, in bytes.

use std::ops::Range;

/// So many places of one edit are followed; of more it is not worth knowing each.
const MAX_PLACES: usize = 1024;

/// A part of the old text, and what stands in its place in the new one. Outside of all regions the texts are the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Region {
    pub(crate) old: Range<usize>,
    pub(crate) new: Range<usize>,
}

impl Region {
    /// What has to be added to a place behind this region to have it in the old text.
    fn back(&self) -> isize {
        self.old.end.cast_signed() - self.new.end.cast_signed()
    }
}

/// The regions of a text that is changed step by step: in order, apart from each other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Regions {
    known: Vec<Region>,
    /// There were too many to follow.
    lost: bool,
}

impl Regions {
    /// One region: all between a common beginning and a common end.
    pub(crate) fn between(old: &[u8], new: &[u8]) -> Vec<Region> {
        let start = old.iter().zip(new).take_while(|(one, other)| one == other).count();
        let (rest_of_old, rest_of_new) = (&old[start..], &new[start..]);
        let end =
            rest_of_old.iter().rev().zip(rest_of_new.iter().rev()).take_while(|(one, other)| one == other).count();
        let region = Region { old: start..old.len() - end, new: start..new.len() - end };
        if region.old.is_empty() && region.new.is_empty() { Vec::new() } else { vec![region] }
    }

    /// What is known of them, or where texts differ as far as can be seen.
    pub(crate) fn found(&self, old: &[u8], new: &[u8]) -> Vec<Region> {
        if self.lost { Self::between(old, new) } else { self.known.clone() }
    }

    /// In the text as it is now, each of these places is replaced by so many bytes. The places are in order, and do not overlap.
    pub(crate) fn replace(&mut self, places: &[(Range<usize>, usize)]) {
        self.lost |= places.len() > MAX_PLACES || self.known.len() > MAX_PLACES;
        if self.lost {
            return;
        }
        // The last one first: what comes before is where it was.
        for (place, new_length) in places.iter().rev() {
            self.splice(place.clone(), *new_length);
        }
    }

    fn splice(&mut self, replaced: Range<usize>, new_length: usize) {
        let first = self.known.partition_point(|region| region.new.end < replaced.start);
        let behind = self.known.partition_point(|region| region.new.start <= replaced.end);
        let back_before = first.checked_sub(1).map_or(0, |before| self.known[before].back());
        let touched = &self.known[first..behind.max(first)];
        let start = touched.first().map_or(replaced.start, |region| region.new.start.min(replaced.start));
        let end = touched.last().map_or(replaced.end, |region| region.new.end.max(replaced.end));
        let back_after = touched.last().map_or(back_before, Region::back);
        let grown = |end: usize| end + new_length - (replaced.end - replaced.start);
        let whole = Region {
            old: start.saturating_add_signed(back_before)..end.saturating_add_signed(back_after),
            new: start..grown(end),
        };
        for region in &mut self.known[behind.max(first)..] {
            region.new = grown(region.new.start)..grown(region.new.end);
        }
        self.known.splice(first..behind.max(first), [whole]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(crate::testing::cases(512))]

        /// FND-28: however a text is changed step by step, outside of the regions it is what it was.
        #[test]
        fn outside_of_regions_nothing_changes(
            text in "[ab\n]{0,40}", steps in prop::collection::vec((any::<prop::sample::Index>(), 0usize..6, "[cd\n]{0,5}"), 0..6),
        ) {
            let old = text.clone().into_bytes();
            let (mut now, mut regions) = (old.clone(), Regions::default());
            for (at, length, new) in steps {
                let at = at.index(now.len() + 1);
                let length = length.min(now.len() - at);
                now.splice(at..at + length, new.bytes());
                regions.replace(&[(at..at + length, new.len())]);
            }
            for found in [regions.found(&old, &now), Regions::between(&old, &now)] {
                let (mut made, mut done, mut last) = (Vec::new(), 0, None);
                for region in &found {
                    prop_assert!(last.is_none_or(|last| last < region.old.start) || region.old.start == 0, "{:?}", found);
                    made.extend_from_slice(&old[done..region.old.start]);
                    prop_assert_eq!(made.len(), region.new.start);
                    made.extend_from_slice(&now[region.new.clone()]);
                    (done, last) = (region.old.end, Some(region.old.end));
                }
                made.extend_from_slice(&old[done..]);
                prop_assert_eq!(&made, &now);
            }
        }
    }
}
