//! PERF-4: many sessions at once in one process (`src/bin/sessions.rs`), with the model server in another.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Stdio};
use std::time::Duration;

use agent_testkit::TestHome;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde_json::json;

use super::definition::Suite;
use super::series::millis;
use crate::bench::Bench;
use crate::crowd::{Crowd, Footprint};
use crate::error::BenchError;
use crate::report::{Row, Unit};
use crate::stats::Samples;

pub(super) const SUITE: Suite = Suite {
    name: "perf-4",
    about: "1,000 sessions at once in one process, 10 turns each of which all but the last read a file of 1 KB",
    // Takes a minute for each run.
    by_name_only: true,
    measure,
};

const SESSIONS: usize = 1_000;
const TURNS: usize = 10;
const RUNNING_KIB: f64 = 300.0;
const IDLE_KIB: f64 = 8.0;
const WINDOW: &str = "model.context_window = 131072";

fn measure(bench: &Bench) -> Result<Vec<Row>, BenchError> {
    let program = bench.programs.also("soong-bench", "sessions")?;
    let server = bench.programs.also("agent-testkit", "scripted-server")?;
    // Sessions have their lock and a connection each; the processes started here inherit the limit.
    allow_descriptors()?;
    let mut crowds = Vec::new();
    for _ in 0..bench.runs.min(3) {
        let home = TestHome::new("sessions");
        let server = Server::start(&home, &server, bench.provider.protocol().provider())?;
        home.write_config(&server.base_url, bench.provider.protocol().provider(), WINDOW);
        crowds.push(crowd(&home, &program)?);
        drop(server);
        home.remove();
    }
    rows(&crowds)
}

fn crowd(home: &TestHome, program: &Path) -> Result<Crowd, BenchError> {
    for turn in 0..TURNS {
        let line = format!("file {turn}: nothing of note was seen here\n");
        home.write(home.project.join(file(turn)), line.repeat(1024 / line.len()));
    }
    let output = home
        .command(program)
        .args([SESSIONS, TURNS].map(|number| number.to_string()))
        .output()
        .map_err(BenchError::file("start", program))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(BenchError::Failed { program: program.display().to_string(), code: output.status.code(), stderr });
    }
    serde_json::from_slice(&output.stdout).map_err(|source| BenchError::Launcher { source })
}

/// Two moments to compare.
type Two = fn(&Crowd) -> [Footprint; 2];

fn rows(crowds: &[Crowd]) -> Result<Vec<Row>, BenchError> {
    let row = |measure: &str, unit, figure: &dyn Fn(&Crowd) -> f64| {
        Ok::<_, BenchError>(Row::new(measure, unit, Samples::new(crowds.iter().map(figure))?))
    };
    let resident = |two: Two| move |crowd: &Crowd| each(two(crowd).map(|footprint| footprint.resident_kib as f64));
    let heap = |two: Two| move |crowd: &Crowd| each(two(crowd).map(|footprint| footprint.heap_bytes as f64 / 1024.0));
    let running: Two = |crowd| [crowd.before, crowd.peak];
    let left: Two = |crowd| [crowd.before, crowd.after];
    let again: Two = |crowd| [crowd.after, crowd.after_again];
    Ok(vec![
        row("a running session, resident", Unit::Kibibytes, &resident(running))?.budget(RUNNING_KIB),
        row("a running session, allocated", Unit::Kibibytes, &heap(running))?,
        row("an idle session, allocated", Unit::Kibibytes, &heap(left))?.budget(IDLE_KIB),
        row("an idle session, resident, of a second thousand", Unit::Kibibytes, &resident(again))?.budget(IDLE_KIB),
        row("an idle session, resident, of the first thousand", Unit::Kibibytes, &resident(left))?,
        row("the slowest session's end over the median", Unit::Ratio, &|crowd| slowest(&crowd.ends))?,
        row("all sessions, start to end", Unit::Millis, &|crowd| last(&crowd.ends))?,
        row("a turn of any session", Unit::Millis, &|crowd| last(&crowd.ends) / (SESSIONS * TURNS) as f64)?,
        row("descriptors, at most", Unit::Count, &|crowd| crowd.peak.descriptors as f64)?,
        row("descriptors, at the end", Unit::Count, &|crowd| crowd.after.descriptors as f64)?,
        row("of them connections", Unit::Count, &|crowd| crowd.after.sockets as f64)?,
        row("descriptors, before", Unit::Count, &|crowd| crowd.before.descriptors as f64)?,
        row("threads, at most", Unit::Count, &|crowd| crowd.peak.threads as f64)?,
    ])
}

/// What each session added.
fn each([before, after]: [f64; 2]) -> f64 {
    (after - before).max(0.0) / SESSIONS as f64
}

fn last(ends: &[Duration]) -> f64 {
    ends.iter().max().copied().map_or(0.0, millis)
}

/// 1 if all end at once.
fn slowest(ends: &[Duration]) -> f64 {
    let median = Samples::new(ends.iter().copied().map(millis)).map_or(f64::NAN, |ends| ends.median());
    last(ends) / median
}

fn allow_descriptors() -> Result<(), BenchError> {
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).map_err(|source| BenchError::Usage { source })?;
    setrlimit(Resource::RLIMIT_NOFILE, most, most).map_err(|source| BenchError::Usage { source })
}

/// The scripted server in a process of its own, so that neither its memory nor its work counts. Ends when it is dropped.
struct Server {
    process: Child,
    base_url: String,
    /// Kept open: it prints one line, and might print more.
    _said: BufReader<ChildStdout>,
}

impl Server {
    fn start(home: &TestHome, program: &Path, provider: &str) -> Result<Self, BenchError> {
        let script = home.root.join("script.json");
        home.write(&script, script_text());
        let failed = |step| BenchError::file(step, program);
        let mut process = home
            .command(program)
            .arg("--script")
            .arg(&script)
            .arg("--no-checks")
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed("start"))?;
        let said = process.stdout.take().map(BufReader::new);
        let mut line = String::new();
        let nothing = || BenchError::Setup { what: "the scripted server says nothing".to_owned() };
        let mut said = said.ok_or_else(nothing)?;
        let read = said.read_line(&mut line);
        let url = line.split_whitespace().find_map(|word| word.strip_prefix(provider)?.strip_prefix('='));
        // From here on dropping it ends the process.
        let server = Self { process, base_url: url.unwrap_or_default().to_owned(), _said: said };
        read.map_err(failed("read from"))?;
        if server.base_url.is_empty() { Err(nothing()) } else { Ok(server) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail only if it is gone already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A reply for each turn, told from the others by how often the model has spoken.
fn script_text() -> String {
    let reading = (0..TURNS - 1).map(|turn| {
        let call = json!({ "name": "code.read_file", "arguments": { "path": file(turn) } });
        json!({ "message": { "text": format!("Now file {turn}."), "calls": [call] } })
    });
    let end = json!({ "message": { "text": "Each file holds lines about its own number, and nothing else." } });
    json!({ "select": "turn", "replies": reading.chain([end]).collect::<Vec<_>>() }).to_string()
}

fn file(turn: usize) -> String {
    format!("data/{turn:03}.txt")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PERF-4: shares of a thousand, and nothing below zero where memory was given back.
    #[test]
    fn shares_and_the_slowest() {
        assert_eq!(each([1_000.0, 9_000.0]), 8.0);
        assert_eq!(each([9_000.0, 1_000.0]), 0.0);
        assert_eq!(slowest(&[1, 2, 3, 4, 9].map(Duration::from_millis)), 3.0);
    }

    /// The server takes the script.
    #[test]
    fn the_script_has_a_reply_for_each_turn() {
        let script = agent_testkit::ScriptFile::parse(&script_text());
        assert!(script.is_ok(), "{script:?}");
        assert_eq!(script_text().matches("\"message\"").count(), TURNS);
    }
}
