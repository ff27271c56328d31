//! Why a step has failed whose holder's run is over (WRK-7).

use agent_protocol::{ChildCancelReason, RunStatus};

use crate::run_state::Ended;

/// The run ended as it should, and never said how its step ended.
const NOT_SAID: &str = "worker_finished_without_terminal_step_status";
/// The run was cancelled.
const CANCELLED: &str = "worker_cancelled";
/// It took longer than it may.
const TIMEOUT: &str = "worker_timeout";
/// It could not go on: its provider or the store failed, or a limit was reached.
const FAILED: &str = "worker_failed";

/// The most of an error's words, in characters.
const WORDS: usize = 1_000;

/// The reason for a run that ended so, or did not stop in time; `stopped` says why it was told to stop, if it was.
pub(super) fn of(end: Option<&Ended>, stopped: Option<ChildCancelReason>) -> String {
    let stop = match stopped {
        Some(ChildCancelReason::Timeout) => TIMEOUT,
        _ => CANCELLED,
    };
    let Some(result) = end.map(Ended::without_answer) else {
        // It did not stop in time, or went without a word.
        return if stopped.is_some() { stop.to_owned() } else { format!("{FAILED}: its run broke off") };
    };
    match (result.status, stopped) {
        (RunStatus::Completed, _) => NOT_SAID.to_owned(),
        (RunStatus::Failed, None) => match (&result.error, result.end_reason) {
            (Some(error), _) => {
                let words: String = error.message.chars().take(WORDS).collect();
                let cut = if words.len() < error.message.len() { "…" } else { "" };
                format!("{FAILED}: {}: {words}{cut}", error.code.as_str())
            }
            (None, Some(end)) => format!("{FAILED}: {}", end.as_str()),
            (None, None) => FAILED.to_owned(),
        },
        _ => stop.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use agent_protocol::{EndReason, ErrorCode, ErrorPayload};

    use super::*;
    use crate::run_state::RunResult;

    /// WRK-7, AGT-C01: the reason says whether the worker forgot its step, was cancelled, took too long, or failed, and then with the
    /// code and the words of what failed.
    #[test]
    fn reasons() {
        let error = || Some(ErrorPayload::new(ErrorCode::ProviderRateLimited, "slow down"));
        let end = |status, reason, error| Ended::from(RunResult::without_work(status, reason, error));
        let completed = || end(RunStatus::Completed, Some(EndReason::Completed), None);
        let aborted = || end(RunStatus::Aborted, Some(EndReason::AbortedTools), None);
        let failed = || end(RunStatus::Failed, Some(EndReason::Failed), error());
        let turns = || end(RunStatus::Failed, Some(EndReason::MaxTurns), None);
        let timeout = Some(ChildCancelReason::Timeout);
        let others = [ChildCancelReason::ParentCancelled, ChildCancelReason::ParentEnded, ChildCancelReason::TaskEnded];
        for (end, stopped, expected) in [
            (Some(completed()), None, NOT_SAID),
            (Some(completed()), timeout, NOT_SAID),
            (Some(aborted()), None, CANCELLED),
            (Some(aborted()), timeout, TIMEOUT),
            (Some(failed()), None, "worker_failed: provider_rate_limited: slow down"),
            (Some(failed()), timeout, TIMEOUT),
            (Some(turns()), None, "worker_failed: max_turns"),
            (None, timeout, TIMEOUT),
            (None, None, "worker_failed: its run broke off"),
        ] {
            assert_eq!(of(end.as_ref(), stopped), expected, "{end:?} {stopped:?}");
        }
        for other in others {
            for end in [Some(aborted()), Some(failed()), None] {
                assert_eq!(of(end.as_ref(), Some(other)), CANCELLED, "{end:?} {other:?}");
            }
        }
        let long = ErrorPayload::new(ErrorCode::InternalError, "ä".repeat(20_000));
        let reason = of(Some(&end(RunStatus::Failed, Some(EndReason::Failed), Some(long))), None);
        assert!(reason.len() < agent_tasks::MAX_TEXT_BYTES && reason.ends_with("ä…"), "{}", reason.len());
    }
}
