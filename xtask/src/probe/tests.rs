//! The probe itself, probed: with servers that answer from a script, and with adapters that break their promises.

mod adapters;
mod cases;
mod command;

use std::time::Duration;

use agent_llm::{ProviderRegistry, ProviderSettings, RetrySettings};
use agent_testkit::MODEL;

use super::check::Check;
use super::checks::CHECKS;
use super::target::Target;
use super::verdict::{Miss, Verdict};

/// Which of the four it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Pass,
    Fail,
    NotSupported,
    ModelDidNot,
}

/// A verdict's kind, and what it says.
fn told(verdict: &Verdict) -> (Kind, &str) {
    match verdict {
        Ok(seen) => (Kind::Pass, seen),
        Err(Miss::Failed(why)) => (Kind::Fail, why),
        Err(Miss::NotSupported(why)) => (Kind::NotSupported, why),
        Err(Miss::ModelDidNot(what)) => (Kind::ModelDidNot, what),
    }
}

#[track_caller]
fn check(name: &str) -> &'static Check {
    CHECKS.iter().find(|check| check.name == name).unwrap_or_else(|| panic!("there is no check {name}"))
}

/// A scripted model at an address, with short waits before asking again.
fn target(registry: ProviderRegistry, provider: &str, base_url: &str) -> Target {
    let mut settings = ProviderSettings::new(base_url);
    settings.retry = RetrySettings {
        max_attempts: 2,
        initial_backoff: Duration::from_millis(1),
        max_backoff: Duration::from_millis(2),
    };
    Target::new(registry, provider, settings, MODEL, 1024).unwrap()
}
