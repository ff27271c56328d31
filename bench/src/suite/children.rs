//! PERF-9: agents with children in one process (`src/bin/children.rs`), with a model in the same process that costs next to nothing.

use std::path::Path;
use std::time::Duration;

use agent_testkit::TestHome;

use super::definition::Suite;
use super::series::millis;
use crate::bench::Bench;
use crate::error::BenchError;
use crate::family::{Families, Family, Timeline};
use crate::report::{Row, Unit};
use crate::stats::Samples;

pub(super) const SUITE: Suite = Suite {
    name: "children",
    about: "64 children of one turn at once in one session; a Task of five steps over three workers, 200 ms a reply",
    by_name_only: false,
    measure,
};

const CHILDREN: usize = 64;
const CPU_MS: f64 = 2.0;
const HEAP_KIB: f64 = 300.0;
const WALL: f64 = 1.1;

fn measure(bench: &Bench) -> Result<Vec<Row>, BenchError> {
    let program = bench.programs.also("soong-bench", "children")?;
    let mut runs = Vec::new();
    for _ in 0..bench.runs.min(10) {
        let home = TestHome::new("children");
        home.write_config("http://127.0.0.1:9", "openai", &configuration());
        runs.push(families(&home, &program)?);
        home.remove();
    }
    rows(&runs)
}

fn configuration() -> String {
    let worker = |n: usize| format!("{{ worker_id = \"w{n}\", agent_definition_id = \"default_worker_agent\" }}");
    let workers: Vec<_> = (0..CHILDREN).map(worker).collect();
    format!(
        "model.provider = \"in_process\"\nmodel.parallel_requests = {0}\nmodel.context_window = 131072\nmemory.enabled = false\n\
         agents.max_children_per_run = {0}\nagents.max_concurrent_children_per_session = {0}\n\
         agents.worker_pools = [{{ pool_id = \"p\", workers = [{1}] }}]",
        CHILDREN,
        workers.join(", ")
    )
}

fn families(home: &TestHome, program: &Path) -> Result<Families, BenchError> {
    let output =
        home.command(program).arg(CHILDREN.to_string()).output().map_err(BenchError::file("start", program))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(BenchError::Failed { program: program.display().to_string(), code: output.status.code(), stderr });
    }
    serde_json::from_slice(&output.stdout).map_err(|source| BenchError::Launcher { source })
}

/// Which family of a run is looked at.
type Of = fn(&Families) -> [Family; 2];

fn rows(runs: &[Families]) -> Result<Vec<Row>, BenchError> {
    let mut rows = Vec::new();
    let kinds: [(&str, Of); 2] = [("a sub agent", |run| run.subs), ("a dispatch", |run| run.workers)];
    for (what, of) in kinds {
        let row = |measure: &str, unit, figure: &dyn Fn(&Family) -> f64| {
            let samples = Samples::new(runs.iter().map(|run| each(of(run), figure)))?;
            Ok::<_, BenchError>(Row::new(format!("{what} of one turn, {measure}"), unit, samples))
        };
        rows.push(row("CPU", Unit::Millis, &|family| millis(family.cpu))?.budget(CPU_MS));
        rows.push(row("memory", Unit::Kibibytes, &|family| family.heap_bytes as f64 / 1024.0)?.budget(HEAP_KIB));
        rows.push(row("calls of the store", Unit::Count, &|family| family.store_trips as f64)?);
        rows.push(row("commits of them", Unit::Count, &|family| family.commits as f64)?);
        rows.push(row("wall time of its share", Unit::Millis, &|family| millis(family.wall))?);
    }
    let over = Samples::new(runs.iter().map(|run| over_critical(run.timeline)))?;
    rows.push(Row::new("the Task, wall time over its critical path", Unit::Ratio, over).budget(WALL));
    Ok(rows)
}

/// What each child added beyond the first.
fn each([one, many]: [Family; 2], figure: &dyn Fn(&Family) -> f64) -> f64 {
    (figure(&many) - figure(&one)).max(0.0) / (many.children - one.children).max(1) as f64
}

fn over_critical(Timeline { wall, critical }: Timeline) -> f64 {
    wall.as_secs_f64() / critical.max(Duration::from_millis(1)).as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PERF-9: shares of those beyond the first, and nothing below zero.
    #[test]
    fn shares_of_children() {
        let family = |children, millis| Family {
            children,
            cpu: Duration::from_millis(millis),
            wall: Duration::ZERO,
            heap_bytes: 0,
            store_trips: 0,
            commits: 0,
        };
        let cpu = |family: &Family| millis(family.cpu);
        assert_eq!(each([family(1, 10), family(5, 18)], &cpu), 2.0);
        assert_eq!(each([family(1, 10), family(5, 8)], &cpu), 0.0);
        let timeline = Timeline { wall: Duration::from_millis(2_100), critical: Duration::from_millis(2_000) };
        assert!((over_critical(timeline) - 1.05).abs() < 1e-9);
    }
}
