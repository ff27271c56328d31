//! What a command came to.

use std::time::Duration;

use agent_exec::{ExecError, Exit, Finished, Leftovers};
use agent_protocol::{ArtifactId, ArtifactRef, ContentBlock, ErrorCode, ErrorPayload};
use agent_tool::ToolOutput;
use serde::Serialize;

use super::{
    output::{Outputs, Shown},
    plan::millis,
    progress::{STDERR_TAIL, STDOUT_TAIL},
    shebang,
};
use crate::{artifact::how_to_read, fail, tool};

/// The result, in the contract's words.
#[derive(Serialize)]
struct Ran {
    exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<String>,
    stdout: String,
    stderr: String,
    stdout_artifact_id: Option<ArtifactId>,
    stderr_artifact_id: Option<ArtifactId>,
    truncated: bool,
    #[serde(skip_serializing_if = "is_zero")]
    stdout_omitted_bytes: u64,
    #[serde(skip_serializing_if = "is_zero")]
    stderr_omitted_bytes: u64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    lossy: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// How much of the end of each output goes to people when a command failed. Bytes and lines.
const TAIL: usize = 2048;
const TAIL_LINES: usize = 20;

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The result of a command that ran, however it ended. A code other than 0 is a result; being stopped, or killed by a
/// signal, is a failure that keeps what was printed (RUN-13, RUN-18).
pub(super) fn of(
    finished: Finished,
    outputs: &Outputs,
    hint: Option<String>,
    shown: &str,
    timeout: Duration,
) -> Result<ToolOutput, ErrorPayload> {
    let (stdout, stderr) = outputs.shown(&finished.stdout, &finished.stderr);
    let references: Vec<_> = [("stdout", &stdout), ("stderr", &stderr)].into_iter().filter_map(reference).collect();
    let redacted = stdout.redacted || stderr.redacted;
    let lossy = stdout.lossy || stderr.lossy;
    let others = [leftovers(finished.leftovers).map(str::to_owned), hint];
    let notes: Vec<String> = stdout.notes.into_iter().chain(stderr.notes).chain(others.into_iter().flatten()).collect();
    let ran = Ran {
        exit_code: finished.exit.shell_code(),
        signal: signal(finished.exit),
        truncated: stdout.omitted + stderr.omitted > 0,
        stdout: stdout.text,
        stderr: stderr.text,
        stdout_artifact_id: stdout.artifact_id,
        stderr_artifact_id: stderr.artifact_id,
        stdout_omitted_bytes: stdout.omitted,
        stderr_omitted_bytes: stderr.omitted,
        lossy,
        note: (!notes.is_empty()).then(|| notes.join("; ")),
    };
    let mut output = tool::output(&ran)?.with("elapsed_ms", millis(finished.elapsed)).with("exit_code", ran.exit_code);
    if let Exit::Code(code) = finished.exit {
        let last = [&ran.stderr, &ran.stdout]
            .into_iter()
            .find_map(|text| text.lines().rev().find(|line| !line.trim().is_empty()));
        output = output.summary(match last {
            Some(last) => format!("exit code {code}: {}", last.trim()),
            None => format!("exit code {code}"),
        });
    }
    if !finished.exit.success() {
        output = output.with(STDOUT_TAIL, tail(&ran.stdout)).with(STDERR_TAIL, tail(&ran.stderr));
    }
    output.content.extend(references);
    output.error = failure(finished.exit, shown, timeout);
    if redacted {
        output = output.with(ToolOutput::REDACTED, true);
    }
    if finished.exit == Exit::Cancelled {
        output = output.with(ToolOutput::ABORTED, true).with(ToolOutput::PARTIAL, true);
    }
    Ok(output)
}

/// The last lines of a text, for people.
fn tail(text: &str) -> &str {
    let end = text.trim_end();
    let lines = end.rmatch_indices('\n').nth(TAIL_LINES - 1).map_or(0, |(at, _)| at + 1);
    let bytes = end.ceil_char_boundary(end.len().saturating_sub(TAIL));
    &end[lines.max(bytes)..]
}

fn reference((name, shown): (&str, &Shown)) -> Option<ContentBlock> {
    let id = shown.artifact_id.clone()?;
    let read_on = how_to_read(&id, shown.omitted_from_line);
    let summary = format!("the whole of {name}, {} bytes; the omitted part: {read_on}", shown.total);
    Some(ContentBlock::ArtifactRef(ArtifactRef {
        artifact_id: id,
        summary: Some(summary),
        mime_type: Some("text/plain".to_owned()),
    }))
}

fn signal(exit: Exit) -> Option<String> {
    match exit {
        Exit::Signal { name: Some(name), .. } => Some(name.to_owned()),
        Exit::Signal { number, name: None } => Some(format!("signal {number}")),
        Exit::Code(_) | Exit::TimedOut | Exit::Cancelled => None,
    }
}

fn failure(exit: Exit, shown: &str, timeout: Duration) -> Option<ErrorPayload> {
    let failed = |code, message| Some(ErrorPayload::new(code, message));
    match exit {
        Exit::Code(_) => None,
        Exit::Signal { number, .. } => failed(ErrorCode::InternalError, format!("{shown} was {exit}"))
            .map(|error| error.detail("kind", "signal").detail("signal", number)),
        Exit::TimedOut => {
            let limit = millis(timeout);
            let what = format!("{shown} did not end within {limit} ms and was stopped");
            let next = "if it needs longer, give it more with timeout_ms; if it waits for input, there is none";
            failed(ErrorCode::Timeout, format!("{what}; {next}")).map(|error| error.detail("timeout_ms", limit))
        }
        Exit::Cancelled => failed(ErrorCode::Cancelled, format!("{shown} was stopped, as the call was cancelled")),
    }
}

fn leftovers(leftovers: Leftovers) -> Option<&'static str> {
    match leftovers {
        Leftovers::None | Leftovers::Unknown => None,
        Leftovers::Killed => Some("processes it had left running were ended"),
        Leftovers::Remain => Some("processes it had left running could not all be ended"),
    }
}

/// Nothing ran.
pub(super) fn not_started(shown: &str, error: &ExecError) -> ErrorPayload {
    let start = |source| fail::os("start", shown, source);
    match error {
        ExecError::Spawn { source, .. } => start(source),
        ExecError::InterpreterMissing { program, .. } => {
            let why = shebang::fault(program).unwrap_or_else(|| error.to_string());
            ErrorPayload::new(ErrorCode::FileNotFound, format!("cannot start {shown}: {why}"))
        }
        ExecError::Cwd { .. } | ExecError::CwdNotDirectory { .. } => {
            ErrorPayload::new(ErrorCode::FileNotFound, format!("cannot start {shown}: {error}"))
        }
        ExecError::NoProgram { .. } => {
            let message =
                format!("cannot start {shown}: {error}; a script is started by its interpreter, as in [\"sh\", …]");
            ErrorPayload::new(ErrorCode::ValidationError, message)
        }
        // The plan rules these out, or the system failed.
        _ => ErrorPayload::new(ErrorCode::InternalError, format!("cannot run {shown}: {error}")),
    }
    .detail("kind", "spawn")
}
