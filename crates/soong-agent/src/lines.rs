//! Single lines about what happened in a run: the same words while it happens and when it is looked at later.

use agent_core::text::{escape_for_terminal, shorten};
use agent_core::{EventType, RuntimeEvent};

use crate::output::Colour;

/// More of a call, or of what came of it, does not help to recognise it.
const MAX_COLUMNS: usize = 200;

/// A fact of an event that is text.
pub(crate) fn text<'e>(event: &'e RuntimeEvent, key: &str) -> Option<&'e str> {
    event.payload.get(key).and_then(|value| value.as_str())
}

/// A fact of an event that is a number.
pub(crate) fn number(event: &RuntimeEvent, key: &str) -> Option<u64> {
    event.payload.get(key).and_then(|value| value.as_u64())
}

/// Whether an event says this of itself.
pub(crate) fn is(event: &RuntimeEvent, key: &str) -> bool {
    event.payload.get(key).is_some_and(|value| value == true)
}

/// The message of an event's error.
pub(crate) fn error_message(event: &RuntimeEvent) -> Option<&str> {
    event.payload.get("error")?.get("message")?.as_str()
}

/// The tool and what the call does.
pub(crate) fn call_line(event: &RuntimeEvent) -> String {
    let tool = text(event, "tool_name").unwrap_or_default();
    // The event that begins a call says it as its summary, the one that ends it as its call.
    let call = match event.event_type {
        EventType::ToolStarted => text(event, "summary"),
        _ => text(event, "call"),
    };
    in_line(&call.map_or_else(|| tool.to_owned(), |call| format!("{tool} {call}")))
}

/// How a call ended: a word for it, its colour, and the line. Nothing for events that end no call.
pub(crate) fn outcome(event: &RuntimeEvent) -> Option<(&'static str, Colour, String)> {
    let (mark, colour) = match event.event_type {
        EventType::ToolCompleted if exit_code(event) != 0 => ("exit", Colour::Yellow),
        EventType::ToolCompleted => ("ok", Colour::Green),
        // Why it was skipped stands right above: the call that failed or was denied.
        EventType::ToolFailed if text(event, "kind") == Some("skipped") => {
            return Some(("skip", Colour::Dim, call_line(event)));
        }
        EventType::ToolFailed => ("failed", Colour::Red),
        EventType::ToolDenied => ("denied", Colour::Yellow),
        _ => return None,
    };
    let call = call_line(event);
    let line = match error_message(event).or_else(|| text(event, "summary")) {
        Some(outcome) => format!("{call}: {}", in_line(outcome.lines().next().unwrap_or_default())),
        None => call,
    };
    Some((mark, colour, line))
}

/// Of a command that ran: a code that is not 0 is a result and no failure, but nothing to call "ok" either (RUN-13).
fn exit_code(event: &RuntimeEvent) -> i64 {
    event.payload.get("metadata").and_then(|facts| facts.get("exit_code")?.as_i64()).unwrap_or(0)
}

/// That the model is asked again.
pub(crate) fn retry(event: &RuntimeEvent) -> String {
    let said = error_message(event).unwrap_or_default();
    format!("{said}; asking again in {:.1} s", number(event, "wait_ms").unwrap_or(0) as f64 / 1000.0)
}

/// That an answer broke off and is asked for again (RUN-23).
pub(crate) fn broken_off(event: &RuntimeEvent) -> String {
    format!("the answer broke off here: {}; asking again", error_message(event).unwrap_or_default())
}

/// That earlier turns were summarised or left out (CTX-9).
pub(crate) fn left_out(event: &RuntimeEvent) -> String {
    let fact = |key: &str| number(event, key).unwrap_or(0);
    let turns = |n: u64| if n == 1 { "1 earlier turn".to_owned() } else { format!("{n} earlier turns") };
    if text(event, "kind") == Some("summary") {
        let (before, after) = (fact("tokens_before"), fact("tokens_after"));
        return format!("{} in summary from here on ({before} tokens became {after})", turns(fact("turns_summarised")));
    }
    if text(event, "kind") == Some("squeeze") {
        return "the context window is full: results and loaded texts are shortened further from here on".to_owned();
    }
    let what = match fact("turns_left_out") {
        0 => "earlier messages".to_owned(),
        n => turns(n),
    };
    format!("the context window is full: {what} left out from here on")
}

/// That a summary was not made, and why.
pub(crate) fn no_summary(event: &RuntimeEvent) -> String {
    format!("earlier turns could not be summarised: {}", error_message(event).unwrap_or_default())
}

/// What came of looking for things to remember. Nothing where nobody asked for it and nothing was found.
pub(crate) fn remembered(event: &RuntimeEvent) -> Option<String> {
    let list = |key: &str| event.payload.get(key).and_then(|list| list.as_array()).into_iter().flatten();
    let ids: Vec<_> =
        ["created", "updated", "conflict"].into_iter().flat_map(list).filter_map(|id| id.as_str()).collect();
    if event.event_type == EventType::MemoryExtractionFailed {
        return Some(format!("nothing was remembered: {}", error_message(event).unwrap_or_default()));
    }
    if !ids.is_empty() {
        return Some(format!("remembered (see, or undo with forget: soong-agent memory show {})", ids.join(" ")));
    }
    let refused = list("refused").find_map(|why| why.as_str().or_else(|| why.get("why")?.as_str()));
    if let Some(why) = refused {
        return Some(format!("not remembered: {why}"));
    }
    let asked_for = text(event, "reason") == Some("explicit_wish");
    asked_for.then(|| "nothing new was found to be remembered".to_owned())
}

/// What is going on while a run waits for a summary.
pub(crate) const SUMMARISING: &str = "summarising earlier turns";

/// That something did not stop when it was told to.
pub(crate) const DID_NOT_STOP: &str = "something did not stop in time; it can change nothing any more";

/// What a person is asked: the tool, and what it would touch. `project` is the beginning of paths that goes without saying.
pub(crate) fn question(event: &RuntimeEvent, project: &str) -> String {
    let tool = text(event, "tool_name").unwrap_or_default();
    let targets = text(event, "target_scope").unwrap_or_default();
    let below = |path| str::strip_prefix(path, project).and_then(|path: &str| path.strip_prefix('/')).unwrap_or(path);
    let targets = targets.split('\n').map(below).collect::<Vec<_>>().join(", ");
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

/// What a run took.
pub(crate) fn usage(event: &RuntimeEvent, seconds: Option<f64>) -> String {
    let usage = |key: &str| event.payload.get("usage").and_then(|usage| usage.get(key)).and_then(|n| n.as_u64());
    let tokens = match (usage("input_tokens"), usage("output_tokens")) {
        (None, None) => "tokens unknown".to_owned(),
        (input, output) => format!("{} tokens in, {} out", known(input), known(output)),
    };
    let cost = event.payload.get("cost").and_then(|cost| cost.as_f64());
    let cost = cost.map(|cost| format!(", cost {cost:.4}")).unwrap_or_default();
    let time = seconds.map(|seconds| format!(", {seconds:.1} s")).unwrap_or_default();
    format!("{}, {tokens}{cost}{time}", counted(number(event, "turns").unwrap_or(0), "turn"))
}

fn known(count: Option<u64>) -> String {
    count.map_or_else(|| "?".to_owned(), |count| count.to_string())
}

/// `1 run`, `2 runs`.
pub(crate) fn counted(count: u64, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}
