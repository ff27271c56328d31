//! JSON Schemas of tool inputs: made from types, kept to a subset, and used to check arguments.

mod arguments;
mod derive;
mod example;
mod subset;
mod unwrap;

pub use arguments::ArgumentError;
pub(crate) use arguments::ArgumentRules;
pub use derive::{InputSchema, input_schema};
pub use subset::{SubsetViolation, check_subset};
