//! The instructions the command executes, counted by valgrind: a figure that does not depend on what else the machine
//! does, for comparing two builds. The kernel's part, about half of the time, is not in it.

use std::ffi::OsStr;
use std::path::Path;

use agent_testkit::TestHome;

use super::definition::Suite;
use crate::bench::Bench;
use crate::error::BenchError;
use crate::report::{Row, Unit};
use crate::stage::{Bodies, Stage};
use crate::stats::Samples;

pub(super) const SUITE: Suite = Suite {
    name: "instructions",
    about: "instructions outside the kernel, counted by valgrind in one run each",
    by_name_only: true,
    measure,
};

const WINDOW: &str = "model.context_window = 131072";
const FEW: usize = 20;
const MANY: usize = 50;
/// As PERF-2 has it for the time of a turn.
const GROWTH: f64 = 1.3;

fn measure(bench: &Bench) -> Result<Vec<Row>, BenchError> {
    let one = Counted::of(bench, 0)?;
    let few = Counted::of(bench, FEW)?;
    let many = Counted::of(bench, MANY)?;
    let early = (few.agent - one.agent) / FEW as f64;
    let late = (many.agent - few.agent) / (MANY - FEW) as f64;
    let floor = (few.floor - one.floor) / FEW as f64;
    let row =
        |measure: &str, count: f64| Ok::<_, BenchError>(Row::new(measure, Unit::Millions, Samples::new([count])?));
    Ok(vec![
        row("one turn", one.agent)?.floor(Samples::new([one.floor])?),
        row(&format!("{FEW} turns"), few.agent)?.floor(Samples::new([few.floor])?),
        row(&format!("a turn of the first {FEW}"), early)?.floor(Samples::new([floor])?),
        row(&format!("a turn of the next {}", MANY - FEW), late)?,
        Row::new("later turns over the first", Unit::Ratio, Samples::new([late / early])?).budget(GROWTH),
    ])
}

/// Millions of instructions.
struct Counted {
    agent: f64,
    floor: f64,
}

impl Counted {
    /// In a home with a database; the run that makes it is not counted.
    fn of(bench: &Bench, tool_turns: usize) -> Result<Self, BenchError> {
        let stage = Stage::new(bench.provider, tool_turns);
        let home = stage.home("instructions", WINDOW);
        let bodies = Bodies::keep(&home, &stage.agent(&home, &bench.programs.agent)?.requests);
        stage.floor(&home, &bench.programs.floor, &bodies)?;
        let agent = count(&home, &bench.programs.agent, &Stage::agent_arguments())?;
        let floor = count(&home, &bench.programs.floor, &stage.floor_arguments(&home, &bodies))?;
        home.remove();
        Ok(Self { agent, floor })
    }
}

fn count<A: AsRef<OsStr>>(home: &TestHome, program: &Path, arguments: &[A]) -> Result<f64, BenchError> {
    let output = home
        .command("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args(arguments)
        .output()
        .map_err(BenchError::file("start", "valgrind"))?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    match collected(&stderr) {
        Some(count) if output.status.success() => Ok(count / 1e6),
        _ => Err(BenchError::Failed {
            program: "valgrind".to_owned(),
            code: output.status.code(),
            stderr: stderr.into_owned(),
        }),
    }
}

/// What valgrind says at the end: `==123== Collected : 10500282`.
fn collected(stderr: &str) -> Option<f64> {
    stderr.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_found() {
        assert_eq!(collected("==1== Events    : Ir\n==1== Collected : 10500282\n==1==\n"), Some(10_500_282.0));
        assert_eq!(collected("==1== Events    : Ir\n"), None);
    }
}
