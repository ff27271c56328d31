//! `soong-agent tools [NAME]`.

use agent_core::config::Location;
use agent_core::text::{escape_for_terminal, shorten};
use agent_core::tool::{self, ToolStatus};

use crate::exit::{Exit, Failure, Outcome};
use crate::output::Output;

/// Room for a tool's description beside the other columns of a line.
const DESCRIPTION_COLUMNS: usize = 72;

pub(crate) fn run(name: Option<&str>, output: &mut Output) -> Outcome {
    let tools = tool::inspect(&Location::default())?;
    let page = match name {
        None => list(&tools),
        Some(name) => page(found(name, &tools).ok_or_else(|| unknown(name, &tools))?),
    };
    output.page(&escape_for_terminal(&page));
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

fn list(tools: &[ToolStatus]) -> String {
    let width = tools.iter().map(|tool| tool.definition.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for tool in tools {
        let about = match tool.withheld {
            Some(why) => format!("not available: {why}"),
            None if tool.nothing_to_load => format!("not offered: {NOTHING_TO_LOAD}"),
            None => {
                let asks = if tool.asks { "asks first" } else { "no asking" };
                format!("{asks:10}  {}", shorten(&tool.definition.description, DESCRIPTION_COLUMNS))
            }
        };
        text.push_str(&format!("{:width$}  {about}\n", tool.definition.name));
    }
    text.push_str("\nWhatever touches sensitive files asks first. `soong-agent tools NAME` shows what a tool takes.\n");
    text
}

fn page(tool: &ToolStatus) -> String {
    let state = match tool.withheld {
        Some(why) => format!("Not available: {why}."),
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
