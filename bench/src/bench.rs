//! What every suite gets.

use crate::programs::Programs;
use crate::stage::Provider;

/// What every suite gets.
pub(crate) struct Bench {
    pub(crate) programs: Programs,
    pub(crate) runs: u32,
    pub(crate) provider: Provider,
}
