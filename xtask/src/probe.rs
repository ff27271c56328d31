//! `xtask probe`: live checks of a model server, through the adapters that runs use.
//!
//! Checks are data ([`checks::CHECKS`]): a name, what it proves, and a function that asks the server and says what it saw.
//! They share nothing but the address, and each has its own time limit. What comes of one tells apart who is at fault: the
//! server or our adapter (`FAIL`), nobody because there is no such thing here (`not supported`), or the model, which is
//! small and did not do what it was asked (`model did not`).

mod arguments;
mod check;
mod checks;
mod heard;
mod relay;
mod report;
mod say;
mod target;
#[cfg(test)]
mod tests;
mod verdict;

use std::time::{Duration, Instant};

pub(crate) use arguments::{Arguments, UsageError};
use check::Check;
use report::Tally;
use target::Target;
use verdict::{Miss, Verdict};

/// What came of a whole probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Nothing failed and something passed, or a list was all that was wanted.
    Holds,
    /// Something failed, or nothing passed at all.
    Broken,
}

/// A model that said something so long ago is still at it: even slow ones write a word in this time.
const WRITING: Duration = Duration::from_secs(10);

/// Runs what the arguments ask for. `print` gets the report piece by piece, `note` a line for people while they wait.
///
/// # Errors
/// [`UsageError`] where the arguments cannot be used; nothing was asked then.
pub(crate) fn run(
    arguments: &Arguments,
    mut print: impl FnMut(&str),
    note: impl FnMut(&str),
) -> Result<Outcome, UsageError> {
    if arguments.list {
        print(&report::list(checks::CHECKS));
        return Ok(Outcome::Holds);
    }
    let chosen = arguments.checks()?;
    let target = arguments.target()?;
    // One thread: the probe waits for the server and for nothing else.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| UsageError::Runtime { source })?;
    Ok(runtime.block_on(probe(&target, &chosen, arguments.patience(), print, note)))
}

/// Runs the checks one after another: they measure time and count connections.
async fn probe(
    target: &Target,
    chosen: &[&Check],
    patience: Duration,
    mut print: impl FnMut(&str),
    mut note: impl FnMut(&str),
) -> Outcome {
    print(&report::head(chosen));
    let mut tally = Tally::default();
    for check in chosen {
        note(&format!("{}: {} …", check.name, check.proves));
        let begun = Instant::now();
        let verdict = bounded(check, target, patience).await;
        print(&report::row(chosen, check, &verdict, begun.elapsed()));
        tally.count(&verdict);
    }
    print(&report::summary(&tally, target));
    if tally.holds() { Outcome::Holds } else { Outcome::Broken }
}

/// A check's verdict, in time.
async fn bounded(check: &Check, target: &Target, patience: Duration) -> Verdict {
    // Dropping what the check was doing closes its connection.
    tokio::time::timeout(patience, (check.run)(target)).await.unwrap_or_else(|_| {
        let late = format!("not done after {} s (--timeout)", patience.as_secs());
        Err(match target.silent_for() {
            Some(silent) if silent < WRITING => Miss::ModelDidNot(format!("{late}, and still writing")),
            Some(silent) => Miss::Failed(format!("{late}, silent for the last {} s", silent.as_secs())),
            None => Miss::Failed(format!("{late}, nothing of the answer came")),
        })
    })
}
