//! Adapters against real sockets: what only a socket can show, and whole conversations against the scripted server.

mod ask;
mod connections;
mod errors;
mod raw;
mod turns;
