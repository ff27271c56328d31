//! The library as its users see it, against a scripted server over real HTTP.

mod cancel;
mod context;
mod house;
mod permissions;
mod runs;
mod sessions;
mod stream;
mod support;
