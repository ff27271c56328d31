//! The store in a SQLite database.

mod agents;
mod apply;
mod archive;
mod checkpoint;
mod clear;
mod database;
mod decode;
mod fault;
mod fence;
mod fields;
mod in_place;
mod json;
mod listing;
mod log;
mod long_content;
mod migrate;
mod overwrite;
mod ownership;
mod path;
mod read;
mod readers;
mod recent;
mod repair;
mod said;
mod search;
mod sessions;
mod sql;
mod store;
mod strays;
mod timeline;
mod wal_index;
mod writer;

pub use repair::Repaired;
pub use store::SqliteStore;
