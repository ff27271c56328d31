//! The command line and the report.

use std::time::Duration;

use agent_llm::ProviderRegistry;
use agent_testkit::{MODEL, Protocol, Reply, ScriptedServer};
use clap::Parser;

use super::{CHECKS, check, target};
use crate::probe::report::{Tally, head, list, row, summary};
use crate::probe::verdict::{Miss, Verdict, quote};
use crate::probe::{Arguments, Outcome, UsageError, run};

#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    arguments: Arguments,
}

fn parse(words: &[&str]) -> Result<Arguments, clap::Error> {
    Line::try_parse_from(std::iter::once(&"probe").chain(words)).map(|line| line.arguments)
}

/// Arguments for a server that nobody asks, and more.
fn arguments(more: &[&str]) -> Arguments {
    let words = ["--provider", "openai", "--base-url", "http://127.0.0.1:1/v1", "--model", MODEL];
    parse(&[&words[..], more].concat()).unwrap()
}

fn usage_error(arguments: &Arguments) -> UsageError {
    run(arguments, |text| panic!("printed {text}"), |line| panic!("noted {line}")).unwrap_err()
}

#[test]
fn what_is_missing_is_wrong_usage() {
    assert!(parse(&["--provider", "openai", "--model", "m"]).is_err());
    assert!(
        parse(&["--provider", "openai", "--model", "m", "--base-url", "http://127.0.0.1", "--timeout", "0"]).is_err()
    );
    assert!(parse(&["--list"]).is_ok());
}

#[test]
fn what_cannot_be_used_is_said_before_anything_is_asked() {
    let shown = |more: &[&str]| usage_error(&arguments(more)).shown();
    assert!(shown(&["--only", "answer,anser"]).starts_with("there is no check called \"anser\"; there are answer, "));
    for broken in ["effort", "effort=low"] {
        assert!(shown(&["--option", broken]).starts_with(&format!("--option {broken} is not KEY=JSON")));
    }
    assert_eq!(shown(&["--option", "efort=\"low\""]), "the adapter cannot be built: openai has no option \"efort\"");
    assert_eq!(
        shown(&["--api-key-env", "XTASK_NO_SUCH_VARIABLE"]),
        "the variable XTASK_NO_SUCH_VARIABLE is not set, which --api-key-env names"
    );
    let unknown = Arguments { provider: Some("olama\u{1b}[2J".to_owned()), ..arguments(&[]) };
    let shown = usage_error(&unknown).shown();
    assert!(shown.contains("no provider is called") && !shown.contains('\u{1b}'), "{shown}");
}

#[test]
fn options_reach_the_adapter() {
    let arguments = arguments(&["--option", "reasoning_effort=\"low\"", "--option", "parallel_tool_calls=false"]);
    let options = arguments.target().unwrap().settings.provider_options;
    assert_eq!(serde_json::to_string(&options).unwrap(), r#"{"reasoning_effort":"low","parallel_tool_calls":false}"#);
}

#[test]
fn a_list_asks_nobody() {
    let mut printed = String::new();
    let outcome = run(&parse(&["--list"]).unwrap(), |text| printed.push_str(text), |line| panic!("noted {line}"));
    assert_eq!((outcome.unwrap(), printed.as_str()), (Outcome::Holds, list(CHECKS).as_str()));
    assert_eq!(printed.lines().count(), CHECKS.len());
}

/// The whole way, from the arguments to the report.
#[test]
fn a_probe_is_a_table_and_a_sum() {
    let server = ScriptedServer::start_blocking();
    server.script([Reply::text("One, two, three").chunks(3), Reply::text("Hello").no_usage()]);
    let base_url = server.base_url(Protocol::OpenAi);
    let arguments = Arguments { base_url: Some(base_url.clone()), ..arguments(&["--only", "usage,answer"]) };
    let (mut printed, mut notes) = (String::new(), Vec::new());
    let outcome = run(&arguments, |text| printed.push_str(text), |line| notes.push(line.to_owned()));
    assert_eq!(outcome.unwrap(), Outcome::Broken);
    assert_eq!(notes.len(), 2);
    let lines: Vec<_> = printed.lines().collect();
    assert_eq!(
        lines[..2],
        ["| check  | result        |      time | what was seen |", "|--------|---------------|----------:|---|"]
    );
    assert!(
        lines[2].starts_with("| answer | pass          | ") && lines[2].ends_with("| 3 deltas: \"One, two, three\" |")
    );
    assert!(lines[3].starts_with("| usage  | FAIL          | "), "{printed}");
    let sum = "1 passed, 1 failed, 0 not supported, 0 not done by the model";
    assert_eq!(lines[5], format!("{sum}: {MODEL} through openai at {base_url}, window 8192"));
}

/// A row stays a row, whatever a server says: no second line, no power over a terminal, no further cell, no tag or image.
#[test]
fn rows_are_harmless() {
    let (check, chosen) = (check("answer"), [check("answer")]);
    let said = "a|b\n\u{1b}[31m<img src=x>![i](http://h/)\u{202e}&lt;\u{7}";
    let verdict: Verdict = Ok(format!("{}, {said}", quote(said)));
    let row = row(&chosen, check, &verdict, Duration::from_millis(1234));
    assert!(row.starts_with("| answer | pass          |    1.23 s | "), "{row}");
    assert_eq!(row.matches('|').count(), head(&chosen).lines().next().unwrap().matches('|').count(), "{row}");
    assert!(!row.contains(['<', '[', '\u{202e}']) && !row.contains("&lt;img&lt;"), "{row}");
    assert!(row.trim_end_matches('\n').chars().all(|c| !c.is_control()), "{row:?}");
    assert!(row.contains("&amp;lt;"), "{row}");
}

#[test]
fn quotes_are_short() {
    assert_eq!(quote(" a\nb "), r#""a\nb""#);
    assert!(quote(&"long ".repeat(1000)).chars().count() <= 102);
}

/// What the exit code is made of: failures count, and a server nobody could ask proves nothing.
#[test]
fn nothing_failed_and_something_passed() {
    let tally = |verdicts: &[Verdict]| {
        let mut tally = Tally::default();
        verdicts.iter().for_each(|verdict| tally.count(verdict));
        tally
    };
    let pass = || Ok(String::new());
    let did_not = || Err(Miss::ModelDidNot(String::new()));
    let not_supported = || Err(Miss::NotSupported(String::new()));
    let failed = || Err(Miss::Failed(String::new()));
    assert!(tally(&[pass(), did_not(), not_supported()]).holds());
    assert!(!tally(&[pass(), failed()]).holds());
    assert!(!tally(&[not_supported(), did_not()]).holds());
    let target = target(ProviderRegistry::with_builtin(), "ollama", "http://127.0.0.1:1");
    let sum = summary(&tally(&[pass(), pass(), did_not(), failed()]), &target);
    assert!(sum.starts_with("\n2 passed, 1 failed, 0 not supported, 1 not done by the model: "), "{sum}");
}
