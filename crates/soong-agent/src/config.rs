//! `soong-agent config path|template|check`.

use agent_core::config::{self, ConfigReport, Location, Reached, ServerReport};
use agent_core::text::escape_for_terminal;

use crate::cli::ConfigCommand;
use crate::exit::{Exit, Failure, Outcome};
use crate::limits;
use crate::output::{Colour, Output};

pub(crate) fn run(command: ConfigCommand, output: &mut Output) -> Outcome {
    match command {
        ConfigCommand::Path => {
            let file = Location::default().config_file()?;
            output.page(&format!("{}\n", file.unwrap_or_default().display()));
        }
        ConfigCommand::Template => output.page(&format!("{}\n", config::template())),
        ConfigCommand::Check => {
            let location = Location::default();
            let report = config::inspect(&location)?;
            let servers = limits::runtime()?.block_on(config::reach_servers(&location))?;
            let mut page = page(&report);
            let (found, wrong): (Vec<_>, Vec<_>) = servers.iter().map(server).partition(|(is_well, _)| *is_well);
            if !found.is_empty() {
                page.push('\n');
            }
            for (_, line) in found {
                page.push_str(&format!("{}\n", escape_for_terminal(&line)));
            }
            let page = output.page_look().page(&page);
            output.page(&page);
            for (_, line) in wrong {
                output.marked("warning:", Colour::Yellow, &escape_for_terminal(&line));
            }
            if let Some(error) = report.no_room_to_orchestrate {
                let line = format!("the context window is too small for runs with --orchestrator: {error}");
                output.marked("warning:", Colour::Yellow, &escape_for_terminal(&line));
            }
            if let Some(wrong) = report.wrong_pools {
                return Err(Failure::usage(wrong.to_string()));
            }
        }
    }
    Ok(Exit::Completed)
}

/// Where the key comes from. That it is missing is no fault yet: it is needed at the first use (CFG-3).
fn key(report: &ConfigReport) -> String {
    match &report.key {
        None => "none".to_owned(),
        Some((variable, true)) => format!("from {variable}"),
        Some((variable, false)) => format!("from {variable}, which is not set now"),
    }
}

/// What was found at a server, and whether runs can be expected to work with it.
fn server(server: &ServerReport) -> (bool, String) {
    let ServerReport { provider, base_url, has_key, reached } = server;
    let name = format!("{provider} at {base_url}");
    match reached {
        Reached::NotAsked => (true, format!("Server: {name} was not asked")),
        Reached::Answered(401 | 403) if *has_key => (true, format!("Server: {name} answers, and wants the key")),
        Reached::Answered(status @ (401 | 403)) => {
            (false, format!("{name} wants a key ({status}): name the variable that holds it in api_key_env"))
        }
        Reached::Answered(status @ 200..300) => (true, format!("Server: {name} answers ({status})")),
        Reached::Answered(status @ 404..=405) => {
            (false, format!("{name} answers, but lists no models there ({status}). If runs fail, correct base_url"))
        }
        Reached::Answered(status) => {
            (false, format!("{name} answers with status {status}. If runs fail, look at base_url and at the server"))
        }
        Reached::Failed(reason) => (false, reason.clone()),
    }
}

fn page(report: &ConfigReport) -> String {
    let budgets = &report.budgets;
    let mut page = format!(
        "{} {}.\n\nModel: {} through {} at {}\nKey: {}\n\nThe context window of {} tokens is shared out like this:\n\
         {:>9} fixed part: system prompt and tool schemas\n\
         {:>9} reserved for the answer\n\
         {:>9} loaded instructions and catalogs, at most\n\
         {:>9} conversation; beyond that older turns are summarised, or left out\n",
        report.origin,
        if report.wrong_pools.is_some() { "is fine but for its worker pools" } else { "is fine" },
        report.model,
        report.provider,
        report.base_url,
        key(report),
        budgets.window,
        budgets.fixed,
        budgets.output,
        budgets.dynamic,
        budgets.messages,
    );
    if let Some(budgets) = &report.orchestrator_budgets {
        page.push_str(&format!(
            "Runs with --orchestrator have more tools, and the task board:\n\
             {:>9} fixed part\n\
             {:>9} loaded instructions, catalogs and the board, at most\n\
             {:>9} conversation\n",
            budgets.fixed, budgets.dynamic, budgets.messages,
        ));
    }
    let by = |model: &Option<String>, off: &str| {
        model.as_ref().map_or_else(|| off.to_owned(), |model| format!("by {model}"))
    };
    page.push_str(&format!(
        "\nSummaries of older turns: {}\nMemory: {}\nInstruction files here: {}   Skills: {}\n",
        by(&report.summaries, "off; the oldest turns are left out"),
        by(&report.memory, "off"),
        report.instruction_files,
        report.skills,
    ));
    page.push_str(&agents(report));
    if !report.file_problems.is_empty() {
        page.push_str("\nFiles with something wrong:\n");
        for problem in &report.file_problems {
            page.push_str(&format!("  {}\n", escape_for_terminal(problem)));
        }
    }
    if !report.keys_not_hidden.is_empty() || !report.keys_that_are_words.is_empty() {
        page.push('\n');
    }
    for name in &report.keys_not_hidden {
        page.push_str(&format!("{}\n", escape_for_terminal(&key_not_hidden(name))));
    }
    for name in &report.keys_that_are_words {
        page.push_str(&format!("{}\n", escape_for_terminal(&key_is_a_word(name))));
    }
    if report.address_of_ollama {
        page.push_str(&format!(
            "\nmodel.base_url is the packaged one, where a local Ollama listens; {} usually has another address.\n",
            report.provider
        ));
    }
    if !report.notices.is_empty() {
        page.push_str("\nWithout effect in this version:\n");
        for notice in &report.notices {
            page.push_str(&format!("  {notice}\n"));
        }
    }
    page
}

/// What is said of a variable whose value would be replaced where it means something else.
pub(crate) fn key_is_a_word(name: &str) -> String {
    format!(
        "the value of {name} looks like an ordinary word: every text that has this word in it shows [secret {name}] there, and files \
         with it cannot be changed at that place; set a longer key, or \"none\" where the server needs no key"
    )
}

/// The agent definitions with the tools that they suggest in vain, and the worker pools.
fn agents(report: &ConfigReport) -> String {
    let ids: Vec<_> = report.agent_definitions.iter().map(|one| one.agent_definition_id.as_str()).collect();
    let mut lines = format!("Agent definitions: {}\n", ids.join(", "));
    for definition in &report.agent_definitions {
        for tool in &definition.suggested_tools {
            if let Some(why) = tool.unavailable_reason {
                let (id, name) = (&definition.agent_definition_id, escape_for_terminal(&tool.name));
                lines.push_str(&format!("  {id} suggests {name}, which it cannot have: {}\n", why.as_str()));
            }
        }
    }
    let pools = report.worker_pools.iter().map(|(pool, workers)| format!("{pool} ({})", workers.join(", ")));
    let pools: Vec<_> = pools.collect();
    let pools = if pools.is_empty() { "none; runs with --orchestrator need one".to_owned() } else { pools.join(", ") };
    lines.push_str(&format!("Worker pools: {pools}\n"));
    lines
}

/// What is said of a variable whose value is not replaced where it turns up.
pub(crate) fn key_not_hidden(name: &str) -> String {
    format!(
        "the value of {name} is not hidden where it turns up in output: only values of 6 bytes to 16 KiB are; set a real key"
    )
}
