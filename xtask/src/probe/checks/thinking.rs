//! Reasoning.

use crate::probe::target::Target;
use crate::probe::verdict::{Verdict, failed, not_supported, quote};

/// Marks between which models think, where nobody takes them out.
const MARKS: [&str; 8] =
    ["<think>", "</think>", "<thinking>", "</thinking>", "<|channel|>", "[THINK]", "<reasoning>", "<thought>"];

pub(super) async fn apart(target: &Target) -> Verdict {
    let heard =
        target.ask_user("A train leaves at 9:40 and arrives at 13:05. How long does it take? Think first.").await?;
    if let Some(mark) = MARKS.iter().find(|mark| heard.text.contains(**mark)) {
        return failed(format!("thoughts came as text, between marks such as {mark}: {}", quote(&heard.text)));
    }
    if heard.reasoning.is_empty() {
        heard.said()?;
        return not_supported("the model did not think, or its thoughts do not show");
    }
    let text = heard.said()?;
    match text.contains(heard.reasoning.trim()) {
        true => failed(format!("thoughts came twice, as reasoning and as text: {}", quote(text))),
        false => Ok(format!("{} characters of reasoning, then {}", heard.reasoning.chars().count(), quote(text))),
    }
}
