//! The library as its users see it, against a scripted server over real HTTP.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test's world is broken where these fail")]

mod api;
mod archive;
mod board;
mod branches;
mod cancel;
mod children;
mod cleanup;
mod compaction;
mod context;
mod debug;
mod definitions;
mod embedding;
mod example;
mod facade;
mod house;
mod inspect;
mod instructions;
mod limits_of_the_tree;
mod many;
mod memory;
mod orchestrator;
mod permissions;
mod plans;
mod policies;
mod queue;
mod registries;
mod runs;
mod sessions;
mod skills;
mod stored;
mod stream;
mod support;
mod views;
mod workers;
