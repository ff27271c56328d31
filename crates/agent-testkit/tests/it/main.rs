//! The scripted server from outside, through a plain HTTP client.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests fail them by panicking")]

mod checks;
mod client;
mod command;
mod endings;
mod faults;
mod gates;
mod probes;
mod runner;
mod streams;
