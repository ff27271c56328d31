//! The store through its port, on real files, in one process and in several.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests fail as tests do")]

mod child;
mod commits;
mod contention;
mod crash;
mod damage;
mod files;
mod ownership;
mod reads;
mod spoilt;
mod support;
