//! `config.toml` of the agent: what it may say, whether it says it right, and what it means.
//!
//! One user-level file, or what a program hands over in its place, decides which model is asked, what tools may do and where
//! things are kept. This crate reads it, reports everything that is wrong with it in one go, and hands out plain values. It is deliberately not:
//!
//! - the settings of any other part: those have their own plain structs, filled in by whoever composes the program;
//! - a merger of layers: there is one file, and no project can bring its own;
//! - a reader of the environment: keys and homes are handed in or named, never looked up.
//!
//! Read in this order: [`Config`] and its sections are the file; [`load()`], [`load_text`] and [`load_value`] make one, given the [`Places`] that
//! placeholders stand for; [`ConfigProblems`] is what they say instead. [`Config::model_for`] lays a profile over
//! `[model]`. Each key is declared once, in `sections`, and its declaration is its struct field, its check and its line in
//! [`reference_markdown`].
//!
//! ```
//! use agent_config::{Places, parse};
//!
//! let places = Places { home: "/home/me/.soong-agent".into(), project: "/home/me/src".into() };
//! let config = parse("[model]\nname = \"other\"\n", "config.toml", &places)?;
//! assert_eq!(config.model.name, "other");
//! assert_eq!(config.model.provider, "ollama");
//!
//! let problems = parse("[model]\nnmae = 1\n[hooks]\nenabled = 1\n", "config.toml", &places).unwrap_err();
//! assert_eq!(problems.problems().len(), 2);
//! assert_eq!(problems.problems()[0].nearest.as_deref(), Some("model.name"));
//! # Ok::<(), agent_config::ConfigProblems>(())
//! ```

mod config;
mod effect;
mod key_variables;
mod load;
mod nearest;
mod parse;
mod path_value;
mod problem;
mod provider_options;
mod reference;
mod role_model;
mod rules;
mod schema;
mod sections;
mod texts;
mod tree;
mod user_file;

pub use config::Config;
pub use effect::Notice;
pub use load::{ConfigError, MAX_CONFIG_BYTES, TEXT_ORIGIN, VALUE_ORIGIN, load, load_text, load_value};
pub use parse::parse;
pub use path_value::{PathValue, PathValueError, Places};
pub use problem::{ConfigProblems, Position, Problem, ProblemKind};
pub use provider_options::ProviderOptions;
pub use reference::reference_markdown;
pub use role_model::ProfileError;
pub use schema::MAX_PROBLEMS;
pub use sections::{
    AgentsConfig, CompactConfig, ContextConfig, HooksConfig, McpToolsConfig, MemoryCategory, MemoryConfig, ModelConfig,
    ModelOverlay, ModelProfile, NetworkPolicyConfig, PermissionsConfig, PlanConfig, Price, RememberScope, RetryConfig,
    RuntimeConfig, TaskConfig, ToolNetworkConfig, ToolOverride, ToolPermission, ToolsConfig, UnattendedWrites, Verdict,
    WorkerEntry, WorkerPool, derived_worker_id,
};
pub use user_file::{Distrust, UserFileError, read_user_file};
