//! INST-07: a run whose project is somebody's home.

use std::fs;
use std::io;
use std::path::Path;

use super::definition::Suite;
use super::series::Series;
use crate::bench::Bench;
use crate::error::BenchError;
use crate::report::{Row, Unit};
use crate::stage::{Run, Stage};

pub(super) const SUITE: Suite = Suite {
    name: "scan-home",
    about: "a run in a home of 300,000 folders",
    // It makes 300,000 folders and takes them away.
    by_name_only: true,
    measure,
};

/// INST-07.
const START_MS: f64 = 2_000.0;
/// What the model is told where not everything was looked at.
const TOLD: &[u8] = b"The search for them ended";
const GROUPS: usize = 300;
const OF_A_GROUP: usize = 1_000;

/// In that home, beside an empty folder.
fn measure(bench: &Bench) -> Result<Vec<Row>, BenchError> {
    let stage = Stage::new(bench.provider, 0);
    let (big, small) = (stage.home("big_home", ""), stage.home("small_home", ""));
    users_home(&big.project).map_err(BenchError::file("make a tree in", &big.project))?;
    let (mut ours, mut floor) = (Series::default(), Series::default());
    for run in 0..=bench.runs.min(5) {
        let (in_big, in_small) =
            (stage.agent(&big, &bench.programs.agent)?, stage.agent(&small, &bench.programs.agent)?);
        if !tells(&in_big) || tells(&in_small) {
            return Err(BenchError::Setup { what: "the model is not told that the search ended early".to_owned() });
        }
        if run > 0 {
            ours.add(&in_big);
            floor.add(&in_small);
        }
    }
    big.remove();
    small.remove();
    let name = format!("a home of {} folders, start to first request", GROUPS * OF_A_GROUP);
    Ok(vec![
        Row::new(name, Unit::Millis, ours.to_first_request()?).budget(START_MS).floor(floor.to_first_request()?),
        Row::new("the same, CPU of the run", Unit::Millis, ours.cpu()?).floor(floor.cpu()?),
        Row::new("the same, peak memory", Unit::Mebibytes, ours.peak()?).floor(floor.peak()?),
    ])
}

fn tells(run: &Run) -> bool {
    run.requests.iter().any(|request| request.body.windows(TOLD.len()).any(|window| window == TOLD))
}

/// Somebody's home, taken for a project by accident.
fn users_home(root: &Path) -> io::Result<()> {
    for group in 0..GROUPS {
        let path = |at: usize| {
            let place = match group % 6 {
                0 => format!("work/app-{group}/node_modules/package-{at}"),
                1 => format!("work/app-{group}/target/debug/unit-{at}"),
                2 => format!("work/app-{group}/bazel-out/unit-{at}"),
                3 => format!("work/trees/tree-{group}-{at}/.git"),
                4 => format!("photos/{group}/{at}"),
                _ => format!("old/{group}/{}/{at}", at / 100),
            };
            root.join(place)
        };
        for at in 0..OF_A_GROUP {
            fs::create_dir_all(path(at))?;
        }
        fs::write(path(0).join("AGENTS.md"), "Somebody's.\n")?;
    }
    Ok(())
}
