//! The command as people and scripts meet it: the built binary, a real HTTP server with a script, a terminal where it
//! matters.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test's world is broken where these fail")]

mod agents;
mod answers;
mod before_agents;
mod big;
mod cancel;
mod cleanup;
mod configuration;
mod context;
mod damaged;
mod folders;
mod interrupted;
mod limits;
mod long_replies;
mod memory;
mod messages;
mod moved;
mod names;
mod orchestrator;
mod process;
mod project;
mod prompts;
mod provider;
mod replay;
mod resume;
mod screen;
mod screens;
mod secrets;
mod sessions;
mod storage;
mod support;
mod task_cleanup;
mod task_logs;
mod tasks;
mod terminal;
mod tools;
mod usage;
mod watched;
