//! Numbers that look random and come back with their seed.

use std::env;
use std::time::{SystemTime, UNIX_EPOCH};

/// SplitMix64: small, and even enough to choose moments.
#[derive(Debug)]
pub(crate) struct Dice {
    pub(crate) seed: u64,
    state: u64,
}

impl Dice {
    /// With the seed of the environment, or a new one. It is said at once, so that a test that fails has said it.
    pub(crate) fn new(kind: &str) -> Self {
        let given = env::var("SOONG_AGENT_FAULT_SEED").ok().map(|seed| seed.parse().expect("the seed is a number"));
        let seed = given.unwrap_or_else(|| {
            let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            u64::from(since_1970.subsec_nanos()) ^ since_1970.as_secs()
        });
        println!("faults: {kind}: seed {seed}");
        Self { seed, state: seed }
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// One time in `n`.
    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Vec<u8> {
        std::iter::repeat_with(|| self.next().to_le_bytes()).flatten().take(count).collect()
    }

    /// Fractions spread evenly from 0 to 1, in no order: one in each of `count` equal parts, anywhere in its part.
    pub(crate) fn spread(&mut self, count: usize) -> Vec<f64> {
        let mut parts: Vec<usize> = (0..count).collect();
        for at in (1..count).rev() {
            parts.swap(at, self.below(at + 1));
        }
        let fine = 1 << 20;
        parts.into_iter().map(|part| (part as f64 + self.below(fine) as f64 / fine as f64) / count as f64).collect()
    }
}
