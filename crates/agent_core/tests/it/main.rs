//! The library as its users see it, against a scripted server over real HTTP.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test's world is broken where these fail")]

mod api;
mod cancel;
mod context;
mod house;
mod permissions;
mod policies;
mod runs;
mod sessions;
mod stream;
mod support;
