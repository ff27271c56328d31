//! INS-5: looking for instruction files in a big repository.

mod tree;

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use agent_library::instructions::{InstructionCatalog, InstructionPlaces, ScanLimits};
use agent_testkit::TestHome;

use super::definition::Suite;
use super::series::millis;
use crate::bench::Bench;
use crate::error::BenchError;
use crate::report::{Row, Unit};
use crate::stats::Samples;
use tree::Made;

pub(super) const SUITE: Suite = Suite {
    name: "scan",
    about: "instruction files looked for in a repository of 100,000 files",
    // Making the tree and taking it away takes half a minute, or more where a file system is slow to remove folders.
    by_name_only: true,
    measure,
};

/// INS-5.
const SCAN_MS: f64 = 150.0;

fn measure(bench: &Bench) -> Result<Vec<Row>, BenchError> {
    let world = TestHome::new("scan");
    let made = tree::repository(&world.project).map_err(BenchError::file("make a tree in", &world.project))?;
    let (mut ours, mut bare, mut find) = (Vec::new(), Vec::new(), Vec::new());
    // The first run is thrown away.
    for run in 0..=bench.runs.min(20) {
        let times = (scan(&world, &made)?, walk(&world.project, &made)?, found(&world.project, &made)?);
        if run > 0 {
            ours.push(times.0);
            bare.push(times.1);
            find.push(times.2);
        }
    }
    world.remove();
    let samples = |times: &[Duration]| Samples::new(times.iter().copied().map(millis));
    let row = |measure: &str, times: &[Duration]| Ok::<_, BenchError>(Row::new(measure, Unit::Millis, samples(times)?));
    let name = format!("scan of {} files in {} folders", made.files, made.folders);
    Ok(vec![
        row(&name, &ours)?.budget(SCAN_MS).floor(samples(&bare)?),
        row("the same beside find", &ours)?.floor(samples(&find)?),
    ])
}

/// A scan that misses something or goes where it should not would be cheap or dear.
fn scan(world: &TestHome, made: &Made) -> Result<Duration, BenchError> {
    let places =
        InstructionPlaces { home: Some(world.home.clone()), project: Some(world.project.clone()), user_home: None };
    let began = Instant::now();
    let catalog = InstructionCatalog::scan(&places, ScanLimits::default());
    let took = began.elapsed();
    let (entries, report) = (catalog.entries().len(), catalog.report());
    // The nested repository's own folder is listed, and then known for what it is.
    let as_made = report.folders == made.folders + made.repositories && report.repositories == made.repositories;
    if entries == made.instructions && as_made && report.stopped.is_none() {
        return Ok(took);
    }
    Err(BenchError::Setup { what: format!("of {made:?} the scan has {entries} entries and {report:?}") })
}

/// The floor: the same folders listed and nothing else.
fn walk(project: &Path, made: &Made) -> Result<Duration, BenchError> {
    let began = Instant::now();
    let folders = listed(project).map_err(BenchError::file("walk through", project))?;
    let took = began.elapsed();
    if folders == made.folders { Ok(took) } else { Err(wrong("the bare walk", folders, made.folders)) }
}

fn listed(root: &Path) -> io::Result<usize> {
    let (mut waiting, mut folders) = (vec![root.to_owned()], 0);
    while let Some(folder) = waiting.pop() {
        folders += 1;
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() && !tree::CLOSED.iter().any(|name| entry.file_name() == *name) {
                waiting.push(entry.path());
            }
        }
    }
    Ok(folders)
}

/// The same by `find`.
fn found(project: &Path, made: &Made) -> Result<Duration, BenchError> {
    let mut command = Command::new("find");
    command.arg(project).args(["-type", "d", "("]);
    for (at, name) in tree::CLOSED.iter().enumerate() {
        command.args((at > 0).then_some("-o")).args(["-name", name]);
    }
    command.args([")", "-prune", "-o", "(", "-name", "AGENTS.md", "-o", "-name", "CLAUDE.md", ")", "-type", "f"]);
    command.arg("-print").stdin(Stdio::null());
    let began = Instant::now();
    let output = command.output().map_err(BenchError::file("start", "find"))?;
    let took = began.elapsed();
    let lines = output.stdout.iter().filter(|byte| **byte == b'\n').count();
    if lines == made.instructions { Ok(took) } else { Err(wrong("find", lines, made.instructions)) }
}

fn wrong(what: &str, found: usize, expected: usize) -> BenchError {
    BenchError::Setup { what: format!("{what} has found {found} instead of {expected}") }
}
