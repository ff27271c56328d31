//! PERF-1 and CLI-7: a run of one turn, from the start of the process to its exit.

use std::ffi::OsString;
use std::path::Path;

use agent_testkit::TestHome;

use super::definition::Suite;
use super::series::Series;
use crate::bench::Bench;
use crate::error::BenchError;
use crate::launch;
use crate::report::{Row, Unit};
use crate::stage::{Bodies, Stage};

pub(super) const SUITE: Suite = Suite {
    name: "perf-1",
    about: "one turn, from the start of the process to its exit",
    by_name_only: false,
    measure,
};

const CPU_MS: f64 = 10.0;
const PEAK_MIB: f64 = 14.0;
/// CLI-7.
const FIRST_REQUEST_MS: f64 = 15.0;
/// CLI-7.
const HELP_MS: f64 = 5.0;

/// Everything that is run, in turn, so that what else the machine does meets all alike.
#[derive(Default)]
struct Figures {
    fresh: Pair,
    warm: Pair,
    /// `--help`, beside a process that does nothing.
    help: Pair,
}

#[derive(Default)]
struct Pair {
    agent: Series,
    floor: Series,
}

fn measure(bench: &Bench) -> Result<Vec<Row>, BenchError> {
    let stage = Stage::new(bench.provider, 0);
    let warm = stage.home("warm", "");
    // The first run is thrown away: it makes the database, and brings the program into memory.
    let bodies = Bodies::keep(&warm, &stage.agent(&warm, &bench.programs.agent)?.requests);
    stage.floor(&warm, &bench.programs.floor, &bodies)?;
    let mut figures = Figures::default();
    for _ in 0..bench.runs {
        let fresh = stage.home("fresh", "");
        figures.fresh.add(bench, &stage, &fresh, &bodies)?;
        fresh.remove();
        figures.warm.add(bench, &stage, &warm, &bodies)?;
        figures.help.agent.spent.push(start(&warm, &bench.programs.agent, &["--help"])?);
        figures.help.floor.spent.push(start(&warm, &bench.programs.floor, &[])?);
    }
    warm.remove();
    rows(&figures)
}

impl Pair {
    fn add(&mut self, bench: &Bench, stage: &Stage, home: &TestHome, bodies: &Bodies) -> Result<(), BenchError> {
        self.agent.add(&stage.agent(home, &bench.programs.agent)?);
        self.floor.add(&stage.floor(home, &bench.programs.floor, bodies)?);
        Ok(())
    }

    fn rows(&self, place: &str) -> Result<Vec<Row>, BenchError> {
        let Self { agent, floor } = self;
        Ok(vec![
            Row::new(format!("CPU, {place}"), Unit::Millis, agent.cpu()?).budget(CPU_MS).floor(floor.cpu()?),
            Row::new(format!("peak memory, {place}"), Unit::Mebibytes, agent.peak()?)
                .budget(PEAK_MIB)
                .floor(floor.peak()?),
            Row::new(format!("start to first request, {place}"), Unit::Millis, agent.to_first_request()?)
                .budget(FIRST_REQUEST_MS)
                .floor(floor.to_first_request()?),
            Row::new(format!("start to exit, {place}"), Unit::Millis, agent.wall()?).floor(floor.wall()?),
        ])
    }
}

fn start(home: &TestHome, program: &Path, arguments: &[&str]) -> Result<launch::Spent, BenchError> {
    let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
    launch::measure(home, program, &arguments)
}

fn rows(figures: &Figures) -> Result<Vec<Row>, BenchError> {
    let Pair { agent, floor } = &figures.help;
    let mut rows = figures.fresh.rows("fresh home")?;
    rows.extend(figures.warm.rows("home with a database")?);
    rows.push(Row::new("--help, start to exit", Unit::Millis, agent.wall()?).budget(HELP_MS).floor(floor.wall()?));
    rows.push(Row::new("--help, CPU", Unit::Millis, agent.cpu()?).floor(floor.cpu()?));
    Ok(rows)
}
