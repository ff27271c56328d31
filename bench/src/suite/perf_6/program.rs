//! What only a process of its own shows (`src/bin/tasks.rs`): what a step takes in memory, and what a command asks of the system.

use std::collections::BTreeMap;

use agent_testkit::TestHome;

use crate::bench::Bench;
use crate::error::BenchError;
use crate::report::{Row, Unit};
use crate::stats::Samples;

const STEPS: usize = 10_000;
const COMMANDS: usize = 200;

pub(super) fn memory(bench: &Bench) -> Result<Vec<Row>, BenchError> {
    let program = bench.programs.also("soong-bench", "tasks")?;
    let home = TestHome::new("task-memory");
    let output = home.command(&program).arg("memory").arg(STEPS.to_string()).output();
    let output = output.map_err(BenchError::file("start", &program))?;
    home.remove();
    let sizes: BTreeMap<String, f64> = match output.status.success() {
        true => serde_json::from_slice(&output.stdout).map_err(|source| BenchError::Launcher { source })?,
        false => return Err(failed("tasks", &output)),
    };
    let row = |(what, bytes): (String, f64)| {
        Ok(Row::new(format!("a step of 10,000, allocated, {what}"), Unit::Bytes, Samples::new([bytes])?))
    };
    sizes.into_iter().map(row).collect()
}

/// The calls of a run with commands, without those of one that stops before the first.
pub(super) fn calls(bench: &Bench) -> Result<Vec<Row>, BenchError> {
    let program = bench.programs.also("soong-bench", "tasks")?;
    let count = |commands: usize| {
        let home = TestHome::new("task-calls");
        let folder = home.root.join("tasks");
        let output = home
            .command("strace")
            .args(["-f", "-c", "-U", "name,calls"])
            .arg(&program)
            .arg("commands")
            .arg(&folder)
            .arg(commands.to_string())
            .output();
        let output = output.map_err(BenchError::file("start", "strace"))?;
        home.remove();
        if output.status.success() {
            Ok(counted(&String::from_utf8_lossy(&output.stderr)))
        } else {
            Err(failed("strace", &output))
        }
    };
    let (without, with) = (count(0)?, count(COMMANDS)?);
    let mut rows = Vec::new();
    for (call, calls) in with {
        let each = (calls - without.get(&call).copied().unwrap_or_default()) / COMMANDS as f64;
        if each > 0.0 {
            let row = Row::new(format!("{call}, a command"), Unit::Ratio, Samples::new([each])?);
            // One write and one sync.
            rows.push(if ["write", "fdatasync"].contains(&call.as_str()) { row.budget(1.0) } else { row });
        }
    }
    Ok(rows)
}

fn failed(program: &str, output: &std::process::Output) -> BenchError {
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    BenchError::Failed { program: program.to_owned(), code: output.status.code(), stderr }
}

/// The lines of the summary: a name and a number.
fn counted(summary: &str) -> BTreeMap<String, f64> {
    let line = |line: &str| {
        let (name, calls) = line.trim().split_once(char::is_whitespace)?;
        Some((name.to_owned(), calls.trim().parse().ok()?))
    };
    summary.lines().filter_map(line).filter(|(name, _)| name != "total").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_found_in_the_summary() {
        let summary = "syscall              calls\n---------------- ---------\nfdatasync              200\nwrite                  201\n\
                       ---------------- ---------\ntotal                 1000\n";
        let expected = BTreeMap::from([("fdatasync".to_owned(), 200.0), ("write".to_owned(), 201.0)]);
        assert_eq!(counted(summary), expected);
    }
}
