//! The shape of the house: who may use whom, and what nobody has (ARCHITECTURE.md).
//!
//! Crates are looked at through cargo ([`workspace`], [`crates`]), sources by parsing them: [`module_tree`] and [`mentions`] read them,
//! [`names`] finds out what a path means, [`circles`] who uses whom; [`sources`] says what must not be. [`layers`] is the plan.

mod circles;
mod crates;
mod layers;
mod made_up;
mod mentions;
mod module_tree;
mod names;
mod promises;
mod sources;
mod workspace;
