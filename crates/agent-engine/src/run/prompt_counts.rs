//! Whether the provider's count of a prompt can be its count of *our* prompt. Servers that cut what does not fit say nothing of
//! it; the count is the only trace. It must neither teach the estimate that twice as much fits, nor pass for an answer to the
//! whole conversation.

/// The counts of the requests so far.
#[derive(Debug, Default)]
pub(super) struct PromptCounts {
    /// The epoch of the last count, and the count. Within an epoch requests only grow (PRV-15).
    last: Option<(u32, u64)>,
}

/// What a count says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing speaks against it.
    Plausible,
    /// Too little for this prompt: part of it was cut, or was not counted because it was cached.
    Odd,
    /// About half of the window, as servers leave it that cut a prompt to make room.
    Halved,
}

/// Counts below this teach nothing, in either direction.
const LEAST: u64 = 64;

impl PromptCounts {
    /// Judges the count of a request that was expected to take so many tokens.
    pub(super) fn judge(&mut self, epoch: u32, counted: Option<u64>, expected: u64, window: u64) -> Verdict {
        let Some(counted) = counted.filter(|counted| *counted >= LEAST) else { return Verdict::Plausible };
        let before = self.last.filter(|(known, _)| *known == epoch).map(|(_, count)| count);
        let fell = match before {
            Some(before) => counted < percent(before, 90),
            None => counted < percent(expected, 60) && expected > window / 2,
        };
        if !fell {
            self.last = Some((epoch, counted));
            return Verdict::Plausible;
        }
        let is_half = (percent(window, 35)..=percent(window, 65)).contains(&counted);
        // A prompt that is far from filling the window had no reason to be cut.
        if is_half && expected >= percent(window, 60) { Verdict::Halved } else { Verdict::Odd }
    }
}

fn percent(of: u64, share: u64) -> u64 {
    u64::try_from(u128::from(of) * u128::from(share) / 100).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts of one epoch after another, with what was expected, in a window of 1000.
    #[track_caller]
    fn check(requests: &[(u32, u64, u64)], expected: Verdict) {
        let mut counts = PromptCounts::default();
        let verdicts: Vec<_> = requests
            .iter()
            .map(|(epoch, counted, expected)| counts.judge(*epoch, Some(*counted), *expected, 1000))
            .collect();
        assert_eq!(verdicts.last(), Some(&expected), "{requests:?}");
    }

    /// PRV-12: a prompt that only grows is counted ever higher; a count that fell is of another prompt.
    #[test]
    fn counts_that_fall_are_of_another_prompt() {
        check(&[(1, 100, 120)], Verdict::Plausible);
        check(&[(1, 700, 800), (1, 690, 900)], Verdict::Plausible);
        check(&[(1, 700, 800), (1, 505, 1100)], Verdict::Halved);
        check(&[(1, 700, 800), (1, 70, 1100)], Verdict::Odd);
        check(&[(1, 700, 800), (1, 505, 500)], Verdict::Odd);
        // A new epoch may be shorter; its first request is judged by the estimate.
        check(&[(1, 700, 800), (2, 505, 520)], Verdict::Plausible);
        check(&[(1, 505, 990)], Verdict::Halved);
        check(&[(1, 100, 400)], Verdict::Plausible);
        check(&[(1, 5, 990)], Verdict::Plausible);
        // What fell is no measure for what follows.
        check(&[(1, 700, 800), (1, 100, 900), (1, 650, 900)], Verdict::Plausible);
        assert_eq!(PromptCounts::default().judge(1, None, 990, 1000), Verdict::Plausible);
    }
}
