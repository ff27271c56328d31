//! Faults (TST-5): the built command is killed, stopped, locked out, robbed of its disk and given broken files, again
//! and again; what it acknowledged must be there afterwards, and the next run must work.
//!
//! Each test ends with one line `faults: <kind>: <rounds> rounds, <faults>, <losses>` (shown with `--nocapture`) and
//! fails if there was a loss. `SOONG_AGENT_FAULT_ROUNDS` sets the number of rounds of the loops,
//! `SOONG_AGENT_FAULT_SEED` repeats the moments of an earlier run as far as the machine allows,
//! `SOONG_AGENT_FAULT_BINARY` names another build to be tried.
//!
//! What counts as acknowledged: a line on stdout or stderr that says that a turn, a call or a session is there; a
//! message that a request showed to the model; an effect of a call on the project. [`ledger`] holds all of it against
//! the database.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test's world is broken where these fail")]
#![expect(clippy::print_stdout, reason = "what was tried and found is the result")]

mod birth;
mod clock;
mod crowd;
mod damage;
mod dice;
mod disk;
mod foreign;
mod kill;
mod ledger;
mod locked;
mod model;
mod mounts;
mod owners;
mod process;
mod readonly;
mod record;
mod rounds;
mod servers;
mod signals;
mod tally;
mod used;
mod world;
