//! Bounds on what a command may hold, so that a log line stays a line and a Task stays in memory.

use agent_protocol::ArtifactId;
use agent_protocol::task::{Operation, StepSpec};

use crate::refusal::Refusal;

/// The most steps in a Task.
pub const MAX_STEPS: usize = 10_000;
/// The most operations in one update.
pub const MAX_OPERATIONS: usize = 1_000;
/// The most steps that a step may depend on.
pub const MAX_DEPENDENCIES: usize = 256;
/// The most products of a step.
pub const MAX_ARTIFACTS: usize = 256;
/// The longest title, in characters.
pub const MAX_TITLE_CHARS: usize = 200;
/// The longest summary, result summary or reason, in bytes. What is longer belongs into an artifact or a file.
pub const MAX_TEXT_BYTES: usize = 16 * 1024;

pub(crate) fn title(what: &str, text: &str) -> Result<(), Refusal> {
    let wrong = if text.trim().is_empty() {
        "is empty"
    } else if text.chars().any(char::is_control) {
        "must be one line, without control characters"
    } else if text.chars().nth(MAX_TITLE_CHARS).is_some() {
        "is longer than 200 characters"
    } else {
        return Ok(());
    };
    Err(Refusal::Invalid(format!("the title of {what} {wrong}")))
}

pub(crate) fn text(what: &str, text: Option<&str>) -> Result<(), Refusal> {
    match text {
        Some(text) if text.len() > MAX_TEXT_BYTES => Err(Refusal::Invalid(format!(
            "{what} has {} bytes, and the limit is {MAX_TEXT_BYTES}: write the details to a file or an artifact and name it here",
            text.len()
        ))),
        _ => Ok(()),
    }
}

pub(crate) fn artifacts(ids: &[ArtifactId]) -> Result<(), Refusal> {
    if ids.len() <= MAX_ARTIFACTS {
        return Ok(());
    }
    Err(Refusal::Invalid(format!("artifact_ids has {} entries, and the limit is {MAX_ARTIFACTS}", ids.len())))
}

pub(crate) fn dependencies(step: &str, count: usize) -> Result<(), Refusal> {
    if count <= MAX_DEPENDENCIES {
        return Ok(());
    }
    let why =
        format!("step {step} depends on {count} steps, and the limit is {MAX_DEPENDENCIES}: put a step in between");
    Err(Refusal::Invalid(why))
}

pub(crate) fn spec(step: &StepSpec) -> Result<(), Refusal> {
    title(&format!("step {}", step.step_id), &step.title)?;
    text(&format!("the summary of step {}", step.step_id), Some(&step.summary))
}

pub(crate) fn step_count(count: usize) -> Result<(), Refusal> {
    if count <= MAX_STEPS {
        return Ok(());
    }
    Err(Refusal::Invalid(format!("the task would have {count} steps, and the limit is {MAX_STEPS}")))
}

pub(crate) fn operations(operations: &[Operation]) -> Result<(), Refusal> {
    if operations.is_empty() {
        return Err(Refusal::Invalid("operations is empty: give at least one".to_owned()));
    }
    if operations.len() > MAX_OPERATIONS {
        let count = operations.len();
        return Err(Refusal::Invalid(format!(
            "operations has {count} entries, and the limit is {MAX_OPERATIONS}: split the update"
        )));
    }
    Ok(())
}
