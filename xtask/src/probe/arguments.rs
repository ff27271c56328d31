//! The command line, and what it asks for.

use std::error::Error as _;
use std::fmt::Write as _;
use std::io;
use std::time::Duration;

use agent_llm::{KeySource, ProviderError, ProviderRegistry, ProviderSettings, ProxySettings};
use agent_protocol::Object;
use agent_redact::escape_for_terminal;
use clap::Args;
use serde_json::Value;

use super::check::Check;
use super::checks::CHECKS;
use super::target::Target;

/// Ask a real model server whether everything a run relies on holds there.
///
/// Prints a Markdown table. Exit codes: 0 if nothing failed, 1 if something did, 2 for wrong usage.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Example:\n  cargo run -p xtask -- probe --provider ollama --base-url http://127.0.0.1:11434 --model gemma4"
)]
pub(crate) struct Arguments {
    /// The adapter: anthropic, ollama, openai
    #[arg(long, required_unless_present = "list")]
    pub(crate) provider: Option<String>,
    /// The server's address, as model.base_url has it
    #[arg(long, value_name = "URL", required_unless_present = "list")]
    pub(crate) base_url: Option<String>,
    /// The model's name at its server
    #[arg(long, value_name = "NAME", required_unless_present = "list")]
    pub(crate) model: Option<String>,
    /// The variable that holds the key
    #[arg(long, value_name = "NAME")]
    pub(crate) api_key_env: Option<String>,
    /// The model's context window in tokens
    #[arg(long, value_name = "TOKENS", default_value_t = 8192, value_parser = clap::value_parser!(u64).range(1024..=100_000_000))]
    pub(crate) context_window: u64,
    /// Most tokens of an answer; models that think need more
    #[arg(long, value_name = "TOKENS", default_value_t = 1024, value_parser = clap::value_parser!(u64).range(64..=1_000_000))]
    pub(crate) max_output_tokens: u64,
    /// An option of the adapter, such as think=false; may be given again
    #[arg(long = "option", value_name = "KEY=JSON")]
    pub(crate) options: Vec<String>,
    /// A key may go over plain http to another host
    #[arg(long)]
    pub(crate) allow_insecure: bool,
    /// Longest time for one check
    #[arg(long, value_name = "SECONDS", default_value_t = 180, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) timeout: u64,
    /// Only these checks
    #[arg(long, value_name = "CHECK", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Say which checks there are, and ask nobody
    #[arg(long)]
    pub(crate) list: bool,
}

/// Why nothing was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UsageError {
    /// No such check.
    #[error("there is no check called \"{name}\"; there are {}", known())]
    UnknownCheck { name: String },
    /// An option that is no key and value.
    #[error("--option {text} is not KEY=JSON; a text needs quotes, such as --option 'effort=\"low\"'")]
    Option { text: String },
    /// The key's variable holds none.
    #[error("the variable {variable} is not set, which --api-key-env names")]
    NoKey { variable: String },
    /// Clap lets nothing through without these.
    #[error("--provider, --base-url and --model are needed")]
    Incomplete,
    /// The adapter cannot be built.
    #[error("the adapter cannot be built")]
    Adapter {
        #[from]
        source: ProviderError,
    },
    /// The machine is out of something.
    #[error("cannot start the asynchronous runtime")]
    Runtime { source: io::Error },
}

impl UsageError {
    /// The error and its causes in a line that is safe to print.
    pub(crate) fn shown(&self) -> String {
        let mut text = self.to_string();
        let mut cause = self.source();
        while let Some(error) = cause {
            // Writing to a String does not fail.
            let _ = write!(text, ": {error}");
            cause = error.source();
        }
        escape_for_terminal(&text).into_owned()
    }
}

fn known() -> String {
    CHECKS.iter().map(|check| check.name).collect::<Vec<_>>().join(", ")
}

impl Arguments {
    /// The checks that are wanted, in their own order.
    pub(crate) fn checks(&self) -> Result<Vec<&'static Check>, UsageError> {
        if let Some(name) = self.only.iter().find(|name| !CHECKS.iter().any(|check| check.name == **name)) {
            return Err(UsageError::UnknownCheck { name: name.clone() });
        }
        let wanted = |check: &&Check| self.only.is_empty() || self.only.iter().any(|name| name == check.name);
        Ok(CHECKS.iter().filter(wanted).collect())
    }

    /// The server that is meant.
    pub(crate) fn target(&self) -> Result<Target, UsageError> {
        let (Some(provider), Some(base_url), Some(model)) = (&self.provider, &self.base_url, &self.model) else {
            return Err(UsageError::Incomplete);
        };
        let mut settings = ProviderSettings::new(base_url.as_str());
        settings.context_window = self.context_window;
        settings.allow_insecure = self.allow_insecure;
        settings.provider_options = self.provider_options()?;
        settings.proxy = proxy();
        settings.api_key = self.api_key_env.as_deref().map(key).transpose()?;
        let registry = ProviderRegistry::with_builtin();
        Ok(Target::new(registry, provider, settings, model, self.max_output_tokens)?)
    }

    pub(crate) fn patience(&self) -> Duration {
        Duration::from_secs(self.timeout)
    }

    fn provider_options(&self) -> Result<Object, UsageError> {
        let mut options = Object::new();
        for text in &self.options {
            let broken = || UsageError::Option { text: text.clone() };
            let (key, value) = text.split_once('=').ok_or_else(broken)?;
            let value: Value = serde_json::from_str(value).map_err(|_| broken())?;
            options.insert(key.to_owned(), value);
        }
        Ok(options)
    }
}

fn key(variable: &str) -> Result<KeySource, UsageError> {
    let read = |name: &str| std::env::var(name).ok().filter(|key| !key.trim().is_empty());
    match read(variable) {
        None => Err(UsageError::NoKey { variable: variable.to_owned() }),
        Some(_) => {
            let name = variable.to_owned();
            Ok(KeySource::new(variable, "the probe", "--api-key-env", move || read(&name)))
        }
    }
}

/// As runs use it (PRV-17).
fn proxy() -> ProxySettings {
    let either = |upper: &str, lower: &str| std::env::var(upper).or_else(|_| std::env::var(lower)).ok();
    ProxySettings { https_proxy: either("HTTPS_PROXY", "https_proxy"), no_proxy: either("NO_PROXY", "no_proxy") }
}
