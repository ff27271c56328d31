//! `soong-agent tools [NAME]`.

use agent_core::config::Location;
use agent_core::session::AgentRole;
use agent_core::text::escape_for_terminal;
use agent_core::tool::{self, ToolStatus, Withheld};

use crate::exit::{Exit, Failure, Outcome};
use crate::output::{Look, Output};

/// A description gets at least so many columns; where it would not, it goes below the name.
const DESCRIPTION: usize = 28;

pub(crate) fn run(name: Option<&str>, output: &mut Output) -> Outcome {
    let tools = tool::inspect(&Location::default())?;
    let look = output.page_look();
    let page = match name {
        None => list(&tools, look),
        Some(name) => look.page(&escape_for_terminal(&page(found(name, &tools).ok_or_else(|| unknown(name, &tools))?))),
    };
    output.page(&page);
    Ok(Exit::Completed)
}

/// By its full name, or by the part after the last dot where only one tool has it.
fn found<'t>(name: &str, tools: &'t [ToolStatus]) -> Option<&'t ToolStatus> {
    let full = tools.iter().find(|tool| tool.definition.name == name);
    let mut short = tools.iter().filter(|tool| tool.definition.name.rsplit('.').next() == Some(name));
    full.or_else(|| short.next().filter(|_| short.next().is_none()))
}

/// Why a tool that nothing forbids is not there.
const NOTHING_TO_LOAD: &str = "there is nothing for it to load yet";

/// Why normal runs do not get a tool, and who does.
fn withheld(tool: &ToolStatus, why: Withheld) -> String {
    let has = |role| tool.offered_to.contains(&role);
    let mut others = Vec::new();
    if has(AgentRole::Orchestrator) {
        others.push("the Orchestrator (run --orchestrator)");
    }
    if has(AgentRole::Worker) {
        others.push("its workers");
    }
    match (why, others.as_slice()) {
        (Withheld::ModeRestricted, ["its workers"]) => "for workers of an Orchestrator (run --orchestrator)".to_owned(),
        (Withheld::ModeRestricted, [_, ..]) => format!("for {}", others.join(" and ")),
        _ => format!("not available: {why}"),
    }
}

fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

fn list(tools: &[ToolStatus], look: Look) -> String {
    let names = tools.iter().map(|tool| tool.definition.name.len()).max().unwrap_or(0);
    let beside = names + ASKS + 4;
    let is_narrow = look.width.is_some_and(|width| width.usable() < beside + DESCRIPTION);
    let mut rows = Vec::new();
    for tool in tools {
        let (asks, about) = match tool.withheld {
            Some(why) => (None, withheld(tool, why)),
            None if tool.nothing_to_load => (None, format!("not offered: {NOTHING_TO_LOAD}")),
            None if tool.asks => (Some("asks first"), first_sentence(&tool.definition.description)),
            None => (Some("no asking"), first_sentence(&tool.definition.description)),
        };
        let name = &tool.definition.name;
        let about = escape_for_terminal(&about);
        if is_narrow {
            let asks = asks.map(|asks| format!("  {asks}")).unwrap_or_default();
            rows.extend(look.rows("", "  ", &format!("{name}{asks}")));
            rows.extend(look.rows("    ", "    ", &about));
            continue;
        }
        let first = match asks {
            Some(asks) => format!("{name:names$}  {asks:ASKS$}  "),
            None => format!("{name:names$}  "),
        };
        rows.extend(look.rows(&first, &" ".repeat(first.len()), &about));
    }
    let mut text: String = rows.into_iter().map(|row| row.trim_end().to_owned() + "\n").collect();
    text.push('\n');
    text.push_str(&look.page(FOOT));
    text
}

/// How wide the column is that says whether a tool asks.
const ASKS: usize = "asks first".len();
/// Below the list.
const FOOT: &str = "Whatever touches sensitive files asks first. `soong-agent tools NAME` shows what a tool takes.";

/// What a tool is for: the first sentence of what its page says.
fn first_sentence(description: &str) -> String {
    let words = description.split_whitespace().collect::<Vec<_>>().join(" ");
    // "e.g. this" ends nothing.
    let ends = |at: &usize| words[at + 2..].starts_with(char::is_uppercase);
    let end = words.match_indices(". ").map(|(at, _)| at).find(ends).map_or(words.len(), |at| at + 1);
    words[..end].to_owned()
}

fn page(tool: &ToolStatus) -> String {
    let state = match tool.withheld {
        Some(why) => format!("{}.", capitalised(&withheld(tool, why))),
        None if tool.nothing_to_load => format!("Not offered to runs: {NOTHING_TO_LOAD}."),
        None if tool.asks => "Available; you are asked before each call.".to_owned(),
        None => "Available; runs unasked unless it touches sensitive files.".to_owned(),
    };
    format!("{}\n{state}\n", tool::reference(&tool.definition))
}

fn unknown(name: &str, tools: &[ToolStatus]) -> Failure {
    let names: Vec<_> = tools.iter().map(|tool| tool.definition.name.as_str()).collect();
    Failure::usage(format!("there is no tool {name:?}; there are {}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_sentences() {
        for (description, sentence) in [
            ("Reads a file. Lines are numbered.", "Reads a file."),
            ("Runs a program: e.g.\nls", "Runs a program: e.g. ls"),
            ("One line", "One line"),
        ] {
            assert_eq!(first_sentence(description), sentence);
        }
    }
}
