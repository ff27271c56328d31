//! Adapters against real sockets: what only a socket can show, and whole conversations against the scripted server.

// Helpers of tests are tests, too, which clippy does not see.
#![allow(clippy::unwrap_used)]

mod anthropic;
mod ask;
mod connections;
mod errors;
mod raw;
mod turns;
