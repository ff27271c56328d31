//! The store in a SQLite database.

mod agents;
mod apply;
mod archive;
mod clear;
mod database;
mod decode;
mod fault;
mod fence;
mod fields;
mod json;
mod listing;
mod migrate;
mod overwrite;
mod ownership;
mod path;
mod read;
mod readers;
mod recent;
mod said;
mod search;
mod sessions;
mod sql;
mod store;
mod strays;
mod timeline;
mod writer;

pub use store::SqliteStore;
