//! The configuration as its users see it: text in, values or problems out.

mod defaults;
mod fuzz;
mod problems;
mod profiles;
mod rules;

use agent_config::{Config, ConfigProblems, Places, parse};

const FILE: &str = "/h/config.toml";
const PACKAGED: &str = include_str!("../../../agent-library/assets/templates/config_default.toml");
const SEED: &str = include_str!("seed.toml");

fn places() -> Places {
    Places { home: "/h".into(), project: "/p".into() }
}

fn read(text: &str) -> Result<Config, ConfigProblems> {
    parse(text, FILE, &places())
}

#[track_caller]
fn right(text: &str) -> Config {
    read(text).unwrap_or_else(|problems| panic!("{text}\n{problems}"))
}

/// The problems, each as `line:column text`.
fn problems(text: &str) -> Vec<String> {
    let Err(found) = read(text) else { return Vec::new() };
    let line = |problem: &agent_config::Problem| match problem.position {
        Some(at) => format!("{}:{} {problem}", at.line, at.column),
        None => problem.to_string(),
    };
    found.problems().iter().map(line).collect()
}

#[track_caller]
fn wrong(text: &str, expected: &[&str]) {
    assert_eq!(problems(text), expected, "{text}");
}
