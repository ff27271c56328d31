//! PERF-5 and DB-14: sessions that have gone on for long, and many of them.

mod context;
mod listing;
mod replay;
mod threads;

use agent_testkit::TestHome;

use super::definition::Suite;
use crate::bench::Bench;
use crate::error::BenchError;
use crate::report::Row;
use crate::stored::Long;
use threads::threads;

pub(super) const SUITE: Suite = Suite {
    name: "perf-5",
    about: "a session of 10,000 nodes on its path and 100,000 events, and 10,000 sessions",
    // Laying them takes half a minute.
    by_name_only: true,
    measure,
};

fn measure(bench: &Bench) -> Result<Vec<Row>, BenchError> {
    let threads = threads()?;
    let home = TestHome::new("long_path");
    let long = threads.block_on(Long::lay(&home))?;
    let mut rows = context::measure(bench, &home, &long)?;
    rows.extend(replay::measure(bench, &home, &long)?);
    home.remove();
    let home = TestHome::new("summarised_path");
    let summarised = threads.block_on(Long::lay_summarised(&home))?;
    rows.extend(context::measure_summarised(bench, &home, &summarised)?);
    home.remove();
    rows.extend(listing::measure(bench)?);
    Ok(rows)
}
