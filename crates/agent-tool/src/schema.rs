//! JSON Schemas: of tool inputs, made from types, kept to a subset, and used to check arguments; and of what a child agent is to answer.

mod arguments;
mod derive;
mod example;
mod output;
mod problems;
mod subset;
mod unwrap;

pub(crate) use arguments::ArgumentRules;
pub use derive::{InputSchema, input_schema};
pub use output::{Mismatch, OutputSchema};
pub use problems::ArgumentError;
pub use subset::{SubsetViolation, check_subset};
