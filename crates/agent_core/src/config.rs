//! The configuration: where it comes from, and what it comes to.
//!
//! Its keys are described in `docs/config.md`; [`template`] is the packaged file to start from.

pub(crate) mod hooks;
mod report;
mod servers;

pub use agent_config::Notice;
pub use agent_engine::{BudgetConfig, Budgets, Calibration, OutputBound};

pub use crate::location::{ConfigSource, Location};
pub use report::{ConfigReport, inspect, template};
pub use servers::{Reached, ServerReport, reach_servers};
