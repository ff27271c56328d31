//! What all agents of a tree share or wait for: the places at a model server, the person who answers, models, budgets.

mod budget;
mod models;
mod places;
mod questions;
mod stage;
