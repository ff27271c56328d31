//! The short texts core itself says to the model. They are part of the machine's behaviour, not of the prompt assets: each
//! belongs to one decision.

use agent_protocol::{CutCall, CutCause, CutShort, ToolCall};

use crate::words::shortened;

/// Behind a message of the user: the date on their machine when its run began.
pub(crate) fn today(date: &str) -> String {
    format!("[The user's local date: {date}]")
}

/// The answer was empty (RUN-9). It must not invite a repeat of a call that already ran.
pub(crate) const EMPTY_REPLY: &str = "Your last reply was empty. If the work is done, say so in plain words now. \
    If it is not, go on with the next step; do not repeat a tool call that has already run.";

/// The answer was cut (RUN-7).
pub(crate) const CUT_REPLY: &str =
    "Your reply was cut at the output limit. Go on exactly where it stopped, without repeating anything.";

/// Why such a reply is no answer, in its event.
pub(crate) const WRITTEN_CALL: &str = "written_call";

/// Why such a reply is no answer, in its event.
pub(crate) const OFF_SCHEMA: &str = "off_schema";

/// The answer is not as the task wants it (AGT-5).
pub(crate) fn off_schema(fault: &str) -> String {
    format!(
        "Your answer is not in the form that your task asks for: {fault}. Give the whole answer again as that JSON alone. Do not repeat \
         tool calls that have already run."
    )
}

/// A tool was to be called in the words of the answer (RUN-9).
pub(crate) fn written_call(tool: &str) -> String {
    format!(
        "Your last reply holds a call of {tool} that is written as text, so nothing was run. Make it as a real tool call now. If it is \
         an example for the user to read, say so in front of it, and put it in a code block."
    )
}

/// The user cancelled (RUN-19); what they had seen of the answer by then.
pub(crate) fn stopped_by_user(seen: Option<&str>) -> String {
    with_what_was_seen("The user stopped the previous answer before it was finished.", seen)
}

/// The answer broke off for good, behind this beginning.
pub(crate) fn broke_off(seen: &str) -> String {
    with_what_was_seen("The previous answer broke off, since the model's server failed.", Some(seen))
}

fn with_what_was_seen(what: &str, seen: Option<&str>) -> String {
    match seen {
        None => what.to_owned(),
        Some(seen) => {
            format!("{what} This much of it had been shown, word for word ([…] stands for what was cut):\n{seen}")
        }
    }
}

/// Calls of a cut reply (RUN-7).
pub(crate) fn cut_call(limit: u64) -> String {
    format!(
        "not run: the reply was cut at the output limit of {limit} tokens while writing tool calls, so none of its calls ran. \
         Make the call again with less content, or split it into several calls"
    )
}

/// What to send in place of arguments that cannot be used, by the reason ([`ToolCall::arguments_error`]) (RUN-16).
pub(crate) fn right_arguments(why: &str) -> &'static str {
    if why.contains(ToolCall::UNFINISHED) {
        "Send the call again with complete JSON"
    } else if why.starts_with(ToolCall::NO_OBJECT) {
        "Send the call again with an object that has the tool's parameters by name"
    } else {
        "Send the call again with valid JSON"
    }
}

/// Calls of a reply that the provider's filter withheld.
pub(crate) const FILTERED_CALL: &str = "not run: the provider's content filter stopped the reply that made this call";

/// The same call again and again (RUN-10).
pub(crate) fn repeated(times: usize) -> String {
    format!(
        "[This is call {times} with the same arguments and the same result. Repeating it will not change anything: use the \
         result you have, or try something else.]"
    )
}

/// The same call, denied again and again (RUN-10).
pub(crate) fn denied_again(times: usize) -> String {
    format!(
        "[This call was denied {times} times. Do not make it again: do something else, or ask the user in plain words what they \
         want instead.]"
    )
}

/// The same call once too often (RUN-10).
pub(crate) fn refused_repeat(times: usize) -> String {
    format!(
        "not run: this is call {times} with the same arguments, and the result was the same each time. Use the result you \
         have, do something else, or tell the user what is in the way"
    )
}

/// A call that was skipped after an earlier one failed (RUN-13) or was denied (RUN-22).
pub(crate) fn skipped(after: &str, how: &str) -> String {
    format!("skipped: the earlier call of {after} in the same reply {how}. Look at its result before you go on")
}

/// A call that was cancelled before it began.
pub(crate) const CANCELLED_BEFORE: &str = "cancelled by the user before it ran";

/// A call that did not stop in time (RUN-17).
pub(crate) const DID_NOT_STOP: &str = "cancelled by the user; it did not stop in time, and what it did is not known";

/// A call that was written down as begun, or may have been, and whose process ended (RUN-20).
pub(crate) const INTERRUPTED: &str =
    "interrupted: the run was cut short during this call, which may or may not have run";

/// A call that was not begun when its run was cut short, by the end of the process or of the store (RUN-20).
pub(crate) const NOT_BEGUN: &str = "not run: the run was cut short before this call began";

/// So many calls of a run that was cut short are named.
const CUT_CALLS: usize = 8;
/// No more is said of what one of them does, in tokens.
const CUT_CALL: u64 = 60;

/// The run before was cut short, and could not say so itself (RUN-20).
pub(crate) fn cut_short(cut: &CutShort) -> String {
    let cause = match cut.cause {
        CutCause::ProcessEnded => "the process ended",
        CutCause::StorageFailed => "the session could not be stored any more",
        CutCause::InternalError => "the program had an internal error",
    };
    let mut text = format!(
        "The work on the previous message was cut short: {cause}. What was being written then is not in this conversation, though \
         the user may have seen some of it."
    );
    if cut.calls.is_empty() {
        return text;
    }
    text.push_str(" These calls had begun, and what they did is not known:");
    for CutCall { tool_name, summary, may_still_run } in cut.calls.iter().take(CUT_CALLS) {
        text.push_str(&format!("\n- {tool_name}"));
        if let Some(summary) = summary {
            text.push_str(&format!(": {}", shortened(summary, CUT_CALL).as_deref().unwrap_or(summary)));
        }
        if *may_still_run {
            text.push_str(" (what it started may still be running)");
        }
    }
    if let more @ 1.. = cut.calls.len().saturating_sub(CUT_CALLS) {
        text.push_str(&format!("\n- {more} more"));
    }
    text.push_str("\nFind out what is there before you make one of them again.");
    text
}

/// Children whose process ended (RUN-20).
pub(crate) fn lost_children(children: &[String]) -> String {
    format!(
        "The process ended while these child agents were at work, so they have failed and reported nothing: {}. What they had \
         already changed is still changed; look before you give the work out again.",
        children.join(", ")
    )
}

/// The marker where turns were left out (PRV-15).
pub(crate) fn left_out(turns: usize) -> String {
    let s = if turns == 1 { "" } else { "s" };
    format!("[{turns} earlier turn{s} left out: the context window is full, and what is missing here cannot be seen]")
}

/// Before the user's words out of turns that were left out.
pub(crate) const WORDS_LEFT_OUT: &str =
    "What the user said in them, word for word ([…] stands for what was cut), oldest first:";

/// At the head of a summary (CMP-1, CTX-9).
pub(crate) fn summarised(turns: usize, left_out: usize) -> String {
    let s = if turns == 1 { "" } else { "s" };
    let mut text = format!(
        "[{turns} earlier turn{s} of this conversation, in summary. Where later messages differ, they are right; files may have \
         changed since. What is done is done: do not do it again.]"
    );
    if left_out > 0 {
        let (s, are) = if left_out == 1 { ("", "is") } else { ("s", "are") };
        text.push_str(&format!(
            "\n[{left_out} more earlier turn{s} had been left out before and {are} in no summary.]"
        ));
    }
    text
}

/// Before the user's words out of turns that were summarised.
pub(crate) const WORDS_SUMMARISED: &str = "## The user's own words, oldest first (they count as they stand)";

/// In place of the content of an instruction file that stands in the system part by now (INS-3).
pub(crate) const IN_SYSTEM_PART: &str =
    "[The content of this file is in the system part of this request, under its path; it was left out here.]";

/// In place of the notice of an instruction file whose text went with older turns and does not stand in the system part.
pub(crate) const INSTRUCTION_LOST: &str = "The text of this instruction file was read earlier and is no longer, or not wholly, in this \
    request. Read the file again before you rely on what it says; if it cannot be read, tell the user.";

/// Between head and tail of an argument that is too big for the window.
pub(crate) fn argument_shortened(left_out: usize, whole: usize) -> String {
    format!(
        "[… {left_out} of {whole} bytes of your argument left out here, since it does not fit the context window; the call had all …]"
    )
}

/// Between head and tail of a result that is too big for the window.
pub(crate) fn result_shortened(left_out: usize, whole: usize) -> String {
    format!(
        "[… {left_out} of {whole} bytes left out here, since the result does not fit the context window: ask for a smaller part …]"
    )
}

/// Behind the first entries of a list in a result that is too big for the window.
pub(crate) fn entries_left_out(left_out: usize, whole: usize) -> String {
    format!(
        "[… {left_out} of {whole} entries left out here, since the result does not fit the context window: ask for a smaller part, or \
         repeat this call alone …]"
    )
}

/// The same in a result whose whole is stored: what leads on there was written before these were left out.
pub(crate) fn stored_entries_left_out(left_out: usize, whole: usize) -> String {
    format!(
        "[… {left_out} of {whole} entries left out here, since the result does not fit the context window: read on in the artifact \
         {left_out} lines before the start_line that is given, to see them, too …]"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RUN-16: what is to be sent depends on what was wrong; complete JSON is asked for only where it was not.
    #[test]
    fn right_arguments_by_cause() {
        for (why, advice) in [
            (format!("{}: EOF while parsing a value", ToolCall::UNFINISHED), "complete JSON"),
            (format!("cut at the output limit: {}: EOF while parsing", ToolCall::UNFINISHED), "complete JSON"),
            (format!("{}, not an array", ToolCall::NO_OBJECT), "an object"),
            ("the arguments are not valid JSON: expected value at line 1 column 3".to_owned(), "valid JSON"),
        ] {
            assert!(right_arguments(&why).contains(advice), "{why}");
        }
    }
}
