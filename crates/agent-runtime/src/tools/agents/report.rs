//! What a child brings back, as the result of the call that started it (AGT-5).

use agent_protocol::{ArtifactRef, ContentBlock, ErrorCode, ErrorPayload, Object, RunStatus};
use agent_tool::{CallContext, ChildReport, ToolOutput, store_result};
use serde_json::{Value, json};
use tokio::task::spawn_blocking;

use super::answer::Answer;
use crate::tools::room::{Room, json_len};

/// However many children report at once, each has this room. Bytes.
const LEAST_ROOM: usize = 400;
/// What the words take that lead to the whole. Bytes.
const POINTER: usize = 180;
/// More of an artifact's ids are counted only.
const MOST_ARTIFACTS: usize = 20;
/// Words of an error beyond this are cut: they are whole in the child's own run. Bytes.
const MOST_ERROR: usize = 1000;
/// The most of an answer that goes to an artifact: models write less. Bytes.
const MOST_WHOLE: u64 = 16 << 20;

/// The result of the call. `more` is what else it says, such as of the step that a worker took; it is never cut.
///
/// Only a child that did what it was asked to is a success: whatever else became of it is an error with what it had said as
/// `partial`.
pub(super) async fn output(report: ChildReport, more: Object, context: CallContext) -> ToolOutput {
    let room = Room::share_of(&context, LEAST_ROOM);
    let error = failure(&report, &room.share(2));
    let answer = Answer::of(&report);
    let is_partial = matches!(answer, Answer::Partial(_));
    let line = match (&error, report.turns) {
        (None, 1) => "completed, 1 turn".to_owned(),
        (None, turns) => format!("completed, {turns} turns"),
        (Some(error), _) => format!("{}: {}", status(&report), error.code),
    };
    let room = room.beside(error.as_ref().map_or(0, |error| error.message.len()));
    let content = fitted(&report, answer, more, &room, &context).await;
    let output = ToolOutput { content, error, ..ToolOutput::default() }
        .summary(line)
        .with("child_agent_id", report.agent_id.as_str())
        .with("child_run_id", report.run_id.as_str())
        .with("stream_id", report.run_id.as_str())
        .with("agent_definition_id", report.agent_definition_id.as_str())
        .with("child_status", status(&report))
        .with("turns", report.turns)
        .with("usage", json!(report.usage));
    let output = if is_partial { output.with(ToolOutput::PARTIAL, true) } else { output };
    if context.cancel.is_cancelled() { output.with(ToolOutput::ABORTED, true) } else { output }
}

/// How it ended, in a word.
fn status(report: &ChildReport) -> &'static str {
    match report.status {
        _ if report.is_success() => "completed",
        RunStatus::Aborted | RunStatus::Cancelled => "cancelled",
        RunStatus::Completed | RunStatus::Failed | RunStatus::Queued | RunStatus::Pending | RunStatus::Running => {
            "failed"
        }
    }
}

/// What went wrong, with the code of the child's own error and its words.
fn failure(report: &ChildReport, room: &Room) -> Option<ErrorPayload> {
    if report.is_success() {
        return None;
    }
    let mut error = report.error.clone().unwrap_or_else(|| match report.status {
        RunStatus::Aborted | RunStatus::Cancelled => ErrorPayload::new(ErrorCode::Cancelled, "it was cancelled"),
        _ => ErrorPayload::new(ErrorCode::InternalError, "its run ended without saying why"),
    });
    let what = match report.status {
        RunStatus::Completed => "",
        RunStatus::Aborted | RunStatus::Cancelled => "the child agent was stopped: ",
        _ => "the child agent failed: ",
    };
    let words = room.at_most(MOST_ERROR).text(&error.message).text;
    error.message = format!("{what}{words}");
    if let Some(reason) = report.end_reason {
        error.details.insert("end_reason".to_owned(), reason.as_str().into());
    }
    Some(error.detail("child_run_id", report.run_id.as_str()))
}

/// The result as far as there is room for it; the whole of what is cut is an artifact.
async fn fitted(
    report: &ChildReport,
    answer: Answer,
    more: Object,
    room: &Room,
    context: &CallContext,
) -> Vec<ContentBlock> {
    let ids: Vec<_> = report.artifacts.iter().map(|id| id.as_str()).collect();
    let parts = |answer: Object, ids: Value, left_out: usize, is_cut: bool| {
        let mut result = Object::from_iter([("status".to_owned(), status(report).into())]);
        result.extend(more.clone());
        result.extend(answer);
        if !report.artifacts.is_empty() {
            result.insert("artifacts".to_owned(), ids);
        }
        if left_out > 0 {
            result.insert("artifacts_left_out".to_owned(), left_out.into());
        }
        if is_cut {
            result.insert("truncated".to_owned(), true.into());
        }
        let metadata = json!({ "child_run_id": report.run_id.as_str(), "turns": report.turns });
        result.insert("metadata".to_owned(), metadata);
        Value::from(result)
    };
    let whole = parts(answer.whole(), json!(ids), 0, false);
    if json_len(&whole) <= room.bytes() && ids.len() <= MOST_ARTIFACTS {
        return vec![ContentBlock::json(whole)];
    }
    let frame = json_len(&parts(Object::new(), json!([]), 0, true)) + POINTER;
    let left = room.beside(frame);
    let few = ids.iter().take(MOST_ARTIFACTS);
    let (named, _) = left.share(4).ids(few);
    let left_out = ids.len() - named.len();
    let short = answer.within(&left.beside(json_len(&json!(named))));
    let shown = parts(short, named.into(), left_out, true);
    // Ids that are not shown are in the whole, which is plain text only where it is nothing but that.
    let (text, filename) = match &answer {
        _ if left_out > 0 => (format!("{whole:#}"), "answer.json"),
        Answer::Output(value) => (format!("{value:#}"), "answer.json"),
        other => match other.as_text() {
            Some(text) => (text.to_owned(), "answer.txt"),
            None => (format!("{whole:#}"), "answer.json"),
        },
    };
    let mime_type = if filename == "answer.json" { "application/json" } else { "text/plain" };
    let (size, context) = (text.len(), context.clone());
    let stored = spawn_blocking(move || store_result(&text, filename, MOST_WHOLE, &context)).await;
    let pointer = match stored {
        Ok(Ok(artifact_id)) => ContentBlock::ArtifactRef(ArtifactRef {
            artifact_id,
            summary: Some(format!("all of it, {size} bytes; code.read_file takes this id as path")),
            mime_type: Some(mime_type.to_owned()),
        }),
        Ok(Err(error)) => ContentBlock::text(format!("[Only this much of it could be kept: {error}]")),
        Err(_) => ContentBlock::text("[Only this much of it could be kept.]"),
    };
    vec![ContentBlock::json(shown), pointer]
}
