//! The course of a call.

use crate::{
    CommandSpec, ExecError, Exit, Finished, Kept, Leftovers, Output, ProgressSink, group::Group, launch::launch,
    orphans, pump::Pump,
};
use std::time::{Duration, Instant};
use tokio::{
    select,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

/// How long to read on after the end: what is in the pipes comes within microseconds, anything later is from
/// processes that stayed.
const DRAIN: Duration = Duration::from_millis(200);
/// How long processes that outlive their program may clean up. A program that ends by itself had its time.
const LEFTOVER_GRACE: Duration = Duration::from_millis(200);

/// Runs one program until it ends, times out or is cancelled.
///
/// When it returns, the program and all it started are gone (see [`Leftovers`]) and collected. However it ended, what
/// it wrote until then is in the answer. A token that is cancelled already starts nothing. It takes at most
/// `timeout` + `kill_grace` and, in the worst case of processes that do not die or a disk that does not take the
/// spill, some seconds more.
///
/// Dropping the future kills the whole group at once; a thread of its own collects it and looks for what had left the
/// group. Spills are then dropped unfinished.
///
/// `progress` gets views of the outputs while they come; see [`ProgressSink`].
///
/// After [`kill_all`](crate::kill_all()) no call returns any more.
///
/// # Errors
///
/// When the program cannot be started, or the system does not tell how it ended. Then nothing runs any more either.
///
/// # Panics
///
/// Outside a tokio runtime with I/O and time. Any flavour will do; blocking work goes to its blocking pool.
pub async fn run(
    spec: CommandSpec,
    cancel: CancellationToken,
    progress: Option<ProgressSink>,
) -> Result<Finished, ExecError> {
    let finished = call(spec, cancel, progress).await;
    if orphans::is_closed() {
        // Nobody is to take what kills everything for the program's own end, and go on with it.
        std::future::pending::<()>().await;
    }
    finished
}

async fn call(
    spec: CommandSpec,
    cancel: CancellationToken,
    progress: Option<ProgressSink>,
) -> Result<Finished, ExecError> {
    let started = Instant::now();
    if cancel.is_cancelled() {
        return Ok(never_started());
    }
    let (program, limit, grace) = (spec.program.clone(), spec.timeout, spec.kill_grace);
    let (mut group, mut pump) = launch(spec, progress, started).await?;

    let stopped = select! {
        biased;
        () = group.ended() => None,
        () = cancel.cancelled() => Some(Exit::Cancelled),
        () = sleep(limit) => Some(Exit::TimedOut),
        never = pump.run() => match never {},
    };
    // A program that has ended is not stopped any more, whatever else was due.
    let stopped = stopped.filter(|_| !group.has_ended());
    let leftovers = match stopped {
        Some(_) => clear(&mut group, &mut pump, grace).await,
        None => {
            let _ = timeout(DRAIN, pump.drain()).await;
            clear(&mut group, &mut pump, grace.min(LEFTOVER_GRACE)).await
        }
    };
    let _ = timeout(DRAIN, pump.drain()).await;
    let collected = group.collect().await;
    drop(group);
    let (stdout, stderr) = pump.finish().await;
    let exit = match stopped {
        Some(exit) => exit,
        None => collected.map_err(|source| ExecError::Status { program, source })?,
    };
    Ok(Finished { exit, stdout, stderr, elapsed: started.elapsed(), leftovers })
}

/// Ends the group while its last words are still read: a process may have to write before it can go.
async fn clear(group: &mut Group, pump: &mut Pump, grace: Duration) -> Leftovers {
    select! {
        leftovers = group.clear(grace) => leftovers,
        never = pump.run() => match never {},
    }
}

fn never_started() -> Finished {
    let nothing = || Output { kept: Kept::default(), total_bytes: 0, spilled_bytes: 0, spill_error: None };
    Finished {
        exit: Exit::Cancelled,
        stdout: nothing(),
        stderr: nothing(),
        elapsed: Duration::ZERO,
        leftovers: Leftovers::None,
    }
}
