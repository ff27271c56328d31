//! Real programs under [`agent_exec::run`].

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests fail as tests do")]

mod ending;
mod launching;
mod leftovers;
mod output;
mod own_process;
mod spilling;
mod support;
mod tty;
