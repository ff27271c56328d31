//! The store through its port, on real files, in one process and in several.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests fail as tests do")]

mod active;
mod agents;
mod before_agents;
mod child;
mod claims;
mod commits;
mod contention;
mod crash;
mod damage;
mod damaged_log;
mod damaged_rows;
mod deletion;
mod files;
mod listing;
mod long_content;
mod moved;
mod ownership;
mod reads;
mod recent;
mod repair;
mod replay;
mod said;
mod search;
mod several;
mod spoilt;
mod strays;
mod support;
mod trees;
mod upgrade;
mod versions;
mod wal_index;
