//! Tasks on disk, in processes that are killed.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests fail as tests do")]

mod child;
mod kill;
mod model;
mod work;
