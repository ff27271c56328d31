//! Single lines about what happened in a run: the same words while it happens and when it is looked at later.

use agent_core::event::PayloadError;
use agent_core::event::{
    CallEnd, CompactCompleted, CompactFailed, CutCause, CutShort, ExtractionReason, MemoryExtractionCompleted,
    MemoryExtractionFailed, ModelFailed, ModelRetry, ResultKind, RunEnd,
};
use agent_core::message::Object;
use agent_core::model::Usage;
use agent_core::runtime::RunStatus;
use agent_core::text::{escape_for_terminal, shorten};
use agent_core::{EventType, RuntimeEvent};

use crate::output::Colour;

/// More of a call, or of what came of it, does not help to recognise it.
const MAX_COLUMNS: usize = 200;

/// A tool and what its call does.
pub(crate) fn call_line(tool: &str, call: Option<&str>) -> String {
    in_line(&call.map_or_else(|| tool.to_owned(), |call| format!("{tool} {call}")))
}

/// How a call ended: a word for it, its colour, and the line.
pub(crate) fn outcome(end: &CallEnd) -> (&'static str, Colour, String) {
    let call = call_line(&end.tool_name, end.call.as_deref());
    let (mark, colour) = match end.kind {
        ResultKind::Ok if exit_code(end) != 0 => ("exit", Colour::Yellow),
        ResultKind::Ok => ("ok", Colour::Green),
        // Why it was skipped stands right above: the call that failed or was denied.
        ResultKind::Skipped => return ("skip", Colour::Dim, call),
        ResultKind::Failed | ResultKind::Aborted => ("failed", Colour::Red),
        ResultKind::Denied => ("denied", Colour::Yellow),
    };
    let said = end.error.as_ref().map(|error| &error.message).or(end.summary.as_ref());
    let said = said.map(|said| in_line(said.lines().next().unwrap_or_default()));
    let line = match said {
        // What was asked for, in the same words.
        Some(said) if call.ends_with(&format!(": {said}")) => call,
        Some(said) => format!("{call}: {said}"),
        None => call,
    };
    (mark, colour, line)
}

/// So many calls of a run that was cut short are named.
const CUT_CALLS: usize = 4;

/// Before each line of what a command printed.
pub(crate) const OUTPUT: &str = "       | ";
/// So many lines of it are shown of a command that failed.
const TAIL_LINES: usize = 10;
/// Where a tool keeps the last that a command printed: in the views while it runs, and in the facts about one that failed.
const TAILS: [&str; 2] = ["stdout_tail", "stderr_tail"];

/// The last that a command printed, if it failed: a bounded number of lines, as one text each.
pub(crate) fn tail(end: &CallEnd) -> Vec<String> {
    let failed = matches!(end.kind, ResultKind::Failed | ResultKind::Aborted) || exit_code(end) != 0;
    if failed { last_of(&end.metadata, TAIL_LINES) } else { Vec::new() }
}

/// The same of one that still runs, each behind a border.
pub(crate) fn last_lines(view: &Object, most: usize) -> Vec<String> {
    last_of(view, most).into_iter().map(|line| format!("{OUTPUT}{line}")).collect()
}

/// The last lines of both outputs: where both have many, half of each.
fn last_of(facts: &Object, most: usize) -> Vec<String> {
    let lines = TAILS.map(|key| {
        let text = facts.get(key).and_then(|text| text.as_str()).unwrap_or_default();
        text.lines().filter(|line| !line.trim().is_empty()).collect::<Vec<_>>()
    });
    let [out, err] = lines.each_ref().map(Vec::len);
    let err = err.min(most.div_ceil(2).max(most.saturating_sub(out)));
    let shown = [out.min(most - err), err];
    let tails = lines.iter().zip(shown).flat_map(|(lines, shown)| &lines[lines.len() - shown..]);
    tails.map(|line| in_line(redrawn(line.trim_end()))).collect()
}

/// What is left of a line that was drawn over: what stands behind the last carriage return.
fn redrawn(line: &str) -> &str {
    line.rsplit('\r').next().unwrap_or(line)
}

/// That calls were not allowed, if any were: all of them, and those that nobody answered about.
pub(crate) fn denied(denied: u64, unanswered: u64) -> Option<String> {
    let were = |count: u64| format!("{} {} denied", counted(count, "call"), if count == 1 { "was" } else { "were" });
    match (denied, unanswered) {
        (0, _) => None,
        (all, 0) => Some(were(all)),
        (all, none) if none >= all => Some(format!("{}, because nobody answered", were(all))),
        (all, none) => Some(format!("{}, {none} of them because nobody answered", were(all))),
    }
}

/// How a run ended, where it did not end with an answer.
pub(crate) fn how_it_ended(status: RunStatus) -> Option<&'static str> {
    match status {
        RunStatus::Aborted | RunStatus::Cancelled => Some("cancelled"),
        RunStatus::Failed => Some("failed"),
        _ => None,
    }
}

/// Of a command that ran: a code that is not 0 is a result and no failure, but nothing to call "ok" either (RUN-13).
fn exit_code(end: &CallEnd) -> i64 {
    end.metadata.get("exit_code").and_then(|code| code.as_i64()).unwrap_or(0)
}

/// That the run before was cut short, and what may still be running of it.
pub(crate) fn cut_short(cut: &CutShort) -> Vec<String> {
    let how = match cut.cause {
        CutCause::ProcessEnded => "its process ended",
        CutCause::StorageFailed => "the session could not be stored any more",
        CutCause::InternalError => "soong-agent had an internal error",
    };
    let mut lines = vec![format!("the last run was cut short: {how}; the model is told")];
    lines.extend(cut.calls.iter().take(CUT_CALLS).map(|call| {
        let what = call_line(&call.tool_name, call.summary.as_deref());
        if call.may_still_run {
            format!("it may still be running: {what}")
        } else {
            format!("it may have been done: {what}")
        }
    }));
    if let more @ 1.. = cut.calls.len().saturating_sub(CUT_CALLS) {
        lines.push(format!("{more} more calls had begun: soong-agent replay last"));
    }
    lines
}

/// That the model is asked again.
pub(crate) fn retry(retry: &ModelRetry) -> String {
    format!("{}; asking again in {:.1} s", retry.error.message, retry.wait_ms as f64 / 1000.0)
}

/// That an answer broke off and is asked for again (RUN-23).
pub(crate) fn broken_off(failed: &ModelFailed) -> String {
    format!("the answer broke off here: {}; asking again", failed.error.message)
}

/// That earlier turns were summarised or left out (CTX-9).
pub(crate) fn left_out(completed: &CompactCompleted) -> String {
    let turns = |n: u64| if n == 1 { "1 earlier turn".to_owned() } else { format!("{n} earlier turns") };
    match completed {
        CompactCompleted::Summary { turns_summarised, tokens_before, tokens_after, .. } => format!(
            "{} in summary from here on ({tokens_before} tokens became {tokens_after})",
            turns(*turns_summarised)
        ),
        CompactCompleted::Squeeze { .. } => format!("{SQUEEZED} from here on"),
        CompactCompleted::WindowSlide { turns_left_out, .. } => {
            let what = match turns_left_out {
                0 => "earlier messages".to_owned(),
                n => turns(*n),
            };
            format!("the context window is full: {what} left out from here on")
        }
    }
}

/// That what is always kept has less room.
pub(crate) const SQUEEZED: &str = "the context window is full: results and loaded texts are shortened further";

/// That a summary was not made, and why.
pub(crate) fn no_summary(failed: &CompactFailed) -> String {
    format!("earlier turns could not be summarised: {}", failed.error.message)
}

/// What came of looking for things to remember. Nothing where nobody asked for it and nothing was found.
pub(crate) fn remembered(event: &RuntimeEvent) -> Option<String> {
    let found = if event.event_type == EventType::MemoryExtractionFailed {
        event.read().map(|failed| Some(not_remembered(&failed)))
    } else {
        event.read().map(|completed| found(&completed))
    };
    found.unwrap_or_else(|damaged| Some(unreadable(&damaged)))
}

/// What was written before it failed is told as well.
fn not_remembered(failed: &MemoryExtractionFailed) -> String {
    let MemoryExtractionFailed { created, updated, conflict, error, .. } = failed;
    let ids: Vec<_> = [created, updated, conflict].into_iter().flatten().flatten().map(String::as_str).collect();
    match ids.is_empty() {
        true => format!("nothing was remembered: {}", error.message),
        false => format!("{}; the rest was not: {}", remembered_ids(&ids), error.message),
    }
}

fn remembered_ids(ids: &[&str]) -> String {
    format!("remembered (see, or undo with forget: soong-agent memory show {})", ids.join(" "))
}

fn found(completed: &MemoryExtractionCompleted) -> Option<String> {
    let MemoryExtractionCompleted { created, updated, conflict, .. } = completed;
    let ids: Vec<_> = [created, updated, conflict].into_iter().flatten().map(String::as_str).collect();
    if !ids.is_empty() {
        return Some(remembered_ids(&ids));
    }
    if let Some(why) = completed.refused.first() {
        return Some(format!("not remembered: {why}"));
    }
    let asked_for = completed.reason == ExtractionReason::ExplicitWish;
    asked_for.then(|| "nothing new was found to be remembered".to_owned())
}

/// That an event says nothing that can be read.
pub(crate) fn unreadable(error: &PayloadError) -> String {
    in_line(&error.to_string())
}

/// What is going on while a run waits for a summary.
pub(crate) const SUMMARISING: &str = "summarising earlier turns";

/// That something did not stop when it was told to.
pub(crate) const DID_NOT_STOP: &str = "something did not stop in time; it can change nothing any more";

/// What a person is asked: the tool, and what it would touch. `project` is the beginning of paths that goes without saying.
pub(crate) fn question<'t>(tool: &str, targets: impl Iterator<Item = &'t str>, project: &str) -> String {
    let below = |path| str::strip_prefix(path, project).and_then(|path: &str| path.strip_prefix('/')).unwrap_or(path);
    let targets = targets.map(below).collect::<Vec<_>>().join(", ");
    in_line(format!("{tool} {targets}").trim_end())
}

/// Text for a part of one line: a model may call anything by any name, also by one that looks like lines of ours.
pub(crate) fn in_line(text: &str) -> String {
    shorten(&whole_line(text), MAX_COLUMNS).into_owned()
}

/// A name, such as a path, for one line: whole, with its blanks as they are.
pub(crate) fn whole_line(name: &str) -> String {
    escape_for_terminal(name).replace('\n', "\\n").replace('\t', "\\t")
}

/// Words for one line: whatever parts them is one blank.
pub(crate) fn one_line(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    escape_for_terminal(&words).into_owned()
}

/// What a run took; and together with the agents below it, if it had any.
pub(crate) fn usage(end: &RunEnd, seconds: Option<f64>) -> String {
    let own = tokens(end.usage.as_ref(), false);
    let time = seconds.map(|seconds| format!(", {seconds:.1} s")).unwrap_or_default();
    let turns = counted(end.turns.unwrap_or(0).into(), "turn");
    let cost = cost(end.cost, end.cost_is_estimate);
    let tree = end.tree.as_ref().map(|tree| {
        let all = tokens(Some(&tree.usage), tree.is_estimate);
        let children = counted(tree.children.into(), "child agent");
        format!("; with {children}: {all}{}", self::cost(tree.cost, tree.is_estimate))
    });
    format!("{turns}, {own}{cost}{time}{}", tree.unwrap_or_default())
}

/// How many tokens were used, as far as the server said.
pub(crate) fn tokens(usage: Option<&Usage>, is_estimate: bool) -> String {
    let about = if is_estimate { "about " } else { "" };
    match (usage.and_then(|usage| usage.input_tokens), usage.and_then(|usage| usage.output_tokens)) {
        (None, None) => "tokens unknown".to_owned(),
        (input, output) => format!("{about}{} tokens in, {} out", known(input), known(output)),
    }
}

fn cost(cost: Option<f64>, is_estimate: bool) -> String {
    let about = if is_estimate { "about " } else { "" };
    cost.map(|cost| format!(", cost {about}{cost:.4}")).unwrap_or_default()
}

fn known(count: Option<u64>) -> String {
    count.map_or_else(|| "?".to_owned(), |count| count.to_string())
}

/// `1 run`, `2 runs`.
pub(crate) fn counted(count: u64, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}
