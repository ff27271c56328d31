//! Whether the provider's count of a prompt can be its count of *our* prompt. Servers that cut what does not fit say nothing of
//! it; the count is the only trace. It must neither teach the estimate that twice as much fits, nor pass for an answer to the
//! whole conversation.

use crate::tokens::Calibration;

/// The counts of the requests so far.
#[derive(Debug, Default)]
pub(super) struct PromptCounts {
    /// The epoch of the last count, and the count. Within an epoch requests only grow (PRV-15).
    last: Option<(u32, u64)>,
}

/// A request of which the prompt was counted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Prompt {
    pub(super) epoch: u32,
    /// As estimated.
    pub(super) estimated: u64,
    /// The same, corrected by what was learned.
    pub(super) expected: u64,
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

/// Counts below this teach nothing, in either direction; all that is looked at is whether they stay.
const LEAST: u64 = 64;

impl PromptCounts {
    /// Judges the count of a request. What it is compared with outlives the run, with what was learned: a server that cuts each prompt
    /// to the same size is told by counts that stay while prompts grow.
    pub(super) fn judge(
        &mut self,
        prompt: Prompt,
        counted: Option<u64>,
        window: u64,
        learned: &mut Calibration,
    ) -> Verdict {
        let Prompt { epoch, estimated, expected } = prompt;
        // Servers that count nothing leave it out, or say 0.
        let Some(counted) = counted.filter(|counted| *counted > 0) else { return Verdict::Plausible };
        // Not compared with what is expected: that follows a prompt that grows in small steps.
        let stays = learned.stays_while_prompts_grow(estimated, counted);
        if counted < LEAST {
            return if stays && is_tiny(counted, expected) { Verdict::Odd } else { Verdict::Plausible };
        }
        let before = self.last.filter(|(known, _)| *known == epoch).map(|(_, count)| count);
        let fell = match before {
            Some(before) => counted < percent(before, 90),
            None => counted < percent(expected, 60) && expected > window / 2,
        };
        if !fell && !stays {
            self.last = Some((epoch, counted));
            return Verdict::Plausible;
        }
        let is_half = (percent(window, 35)..=percent(window, 65)).contains(&counted);
        // A prompt that is far from filling the window had no reason to be cut.
        if is_half && expected >= percent(window, 60) { Verdict::Halved } else { Verdict::Odd }
    }
}

/// Whether a count is so little beside an estimate that it is no count of the same: no tokenizer is off by that much.
pub(super) fn is_tiny(counted: u64, estimated: u64) -> bool {
    counted < estimated / 4
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
        let mut learned = Calibration::default();
        let mut judge = |(epoch, counted, expected): &(u32, u64, u64)| {
            let prompt = Prompt { epoch: *epoch, estimated: *expected, expected: *expected };
            counts.judge(prompt, Some(*counted), 1000, &mut learned)
        };
        let verdicts: Vec<_> = requests.iter().map(&mut judge).collect();
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
        let prompt = Prompt { epoch: 1, estimated: 990, expected: 990 };
        let uncounted = PromptCounts::default().judge(prompt, None, 1000, &mut Calibration::default());
        assert_eq!(uncounted, Verdict::Plausible);
    }

    /// PRV-12: a tiny constant is no count of prompts that grow, whatever it is; tiny counts that differ are those of a server that counts
    /// only what it had not cached, and small ones of small prompts are right.
    #[test]
    fn a_tiny_constant_is_noticed() {
        for constant in [1, 2, 10, 42, 63, 64, 100] {
            let (mut counts, mut learned) = (PromptCounts::default(), Calibration::default());
            for n in 0..12_u64 {
                let estimated = 600 + 700 * n;
                let prompt = Prompt { epoch: 1, estimated, expected: learned.apply(estimated) };
                let verdict = counts.judge(prompt, Some(constant), 32_768, &mut learned);
                let expected = if n == 0 { Verdict::Plausible } else { Verdict::Odd };
                assert_eq!(verdict, expected, "{constant} {estimated}");
            }
        }
        let (mut counts, mut learned) = (PromptCounts::default(), Calibration::default());
        for n in 0..12_u64 {
            let prompt = Prompt { epoch: 1, estimated: 600 + 700 * n, expected: 600 + 700 * n };
            assert_eq!(counts.judge(prompt, Some(10 + n % 5), 32_768, &mut learned), Verdict::Plausible);
        }
        for (estimated, counted) in [(30, 40), (40, 40), (60, 40), (90, 40)] {
            let prompt = Prompt { epoch: 2, estimated, expected: estimated };
            assert_eq!(counts.judge(prompt, Some(counted), 32_768, &mut learned), Verdict::Plausible, "{estimated}");
        }
    }

    /// FND-45, PRV-12: a count that stays where it is while prompts grow, in steps of any size and in runs of their own, is that of a
    /// prompt that was cut; it teaches nothing. One that grows with its prompts is none, whatever the tokenizer.
    #[test]
    fn a_constant_count_is_noticed() {
        for step in [20, 100, 400, 1500] {
            for cut_to in [900_u64, 2_200, 4_096] {
                for epochs in [false, true] {
                    for wobble in [0, 5] {
                        let (mut counts, mut learned) = (PromptCounts::default(), Calibration::default());
                        let mut cuts = 0;
                        for n in 0..400_u64 {
                            let estimated = (600 + n * step).min(8_000);
                            let counted = estimated.min(cut_to - wobble * (n % 2));
                            let epoch = if epochs { n as u32 } else { 1 };
                            let prompt = Prompt { epoch, estimated, expected: learned.apply(estimated) };
                            let verdict = counts.judge(prompt, Some(counted), 8_192, &mut learned);
                            if verdict == Verdict::Plausible {
                                learned.observe(estimated, Some(counted));
                            }
                            let is_cut = estimated > cut_to * 13 / 10;
                            cuts += u32::from(is_cut);
                            // The first one may be of another size of prompts.
                            assert!(cuts < 2 || verdict != Verdict::Plausible, "{step} {cut_to} {epochs} {estimated}");
                            assert!(estimated > cut_to || verdict == Verdict::Plausible, "{step} {cut_to} {estimated}");
                            let ratio = learned.ratio();
                            assert!(ratio > 0.75, "{step} {cut_to} {epochs}: learned {ratio}");
                        }
                        assert!(cuts > 2);
                    }
                }
            }
            for ratio in [0.6, 1.0, 1.8] {
                let (mut counts, mut learned) = (PromptCounts::default(), Calibration::default());
                for n in 0..100_u64 {
                    let estimated = 600 + n * step / 10;
                    let counted = (estimated as f64 * ratio) as u64;
                    let prompt = Prompt { epoch: 1, estimated, expected: learned.apply(estimated) };
                    let verdict = counts.judge(prompt, Some(counted), 1_000_000, &mut learned);
                    assert_eq!(verdict, Verdict::Plausible, "{ratio} {step} {estimated}");
                    learned.observe(estimated, Some(counted));
                }
            }
        }
    }
}
