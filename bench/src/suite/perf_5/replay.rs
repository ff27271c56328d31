//! Replaying a long session: in this process, and by the command.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;
use std::time::{Duration, Instant};

use agent_core::config::Location;
use agent_protocol::{ContentBlock, Object};
use agent_testkit::TestHome;
use rusqlite::{Connection, OpenFlags};

use crate::bench::Bench;
use crate::error::BenchError;
use crate::launch;
use crate::report::{Row, Unit};
use crate::stats::Samples;
use crate::stored::Long;
use crate::suite::series::millis;

/// 400,000 events a second.
const REPLAY_MS: f64 = Long::EVENTS as f64 / 400.0;
const PEAK_MIB: f64 = 50.0;

pub(super) fn measure(bench: &Bench, home: &TestHome, long: &Long) -> Result<Vec<Row>, BenchError> {
    let runs = bench.runs.min(10);
    let (mut ours, mut whole, mut floor, mut first) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut peaks = Vec::new();
    for run in 0..=runs {
        let (redacted, as_it_is) = (replay(home, long, false)?, replay(home, long, true)?);
        let bare = read_all(long)?;
        let arguments = ["replay".into(), long.session_id.as_str().into()];
        let spent = launch::measure(home, &bench.programs.agent, &arguments)?;
        let line = first_line(bench, home, long)?;
        // The first one is thrown away.
        if run > 0 {
            ours.push(redacted);
            whole.push(as_it_is);
            floor.push(bare);
            first.push(line);
            peaks.extend(spent.peak_kib.map(|kib| kib as f64 / 1024.0));
        }
    }
    let samples = |times: Vec<Duration>| Samples::new(times.into_iter().map(millis));
    let (ours, floor) = (samples(ours)?, samples(floor)?);
    let speed = Samples::new([Long::EVENTS as f64 * 1e3 / ours.median()])?;
    Ok(vec![
        Row::new("replay of 100,000 events and 10,000 nodes, redacted", Unit::Millis, ours)
            .budget(REPLAY_MS)
            .floor(floor.clone()),
        Row::new("the same in events a second", Unit::Count, speed),
        Row::new("the same, not redacted", Unit::Millis, samples(whole)?).floor(floor),
        Row::new("soong-agent replay, peak memory", Unit::Mebibytes, Samples::new(peaks)?).budget(PEAK_MIB),
        Row::new("soong-agent replay, start to first line", Unit::Millis, samples(first)?),
    ])
}

/// Reads it page by page, as the command does, and drops each page.
fn replay(home: &TestHome, long: &Long, include_sensitive: bool) -> Result<Duration, BenchError> {
    super::threads()?.block_on(async {
        let archive = agent_core::archive::open(&Location::default().home_dir(&home.home)).await?;
        let began = Instant::now();
        let mut replay = archive.replay_session(&long.session_id, None, None, include_sensitive).await?;
        let (mut events, mut nodes) = (0, 0);
        while let Some(page) = replay.next().await? {
            events += page.events.len();
            nodes += page.nodes.len();
        }
        let took = began.elapsed();
        archive.close().await;
        // A run or two have gone on with it.
        if events >= Long::EVENTS && nodes >= Long::NODES {
            Ok(took)
        } else {
            Err(BenchError::Setup { what: format!("{events} events and {nodes} nodes were replayed") })
        }
    })
}

/// The floor: the same rows read by one statement each, and their JSON parsed.
fn read_all(long: &Long) -> Result<Duration, BenchError> {
    let access = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let database = Connection::open_with_flags(&long.database, access)?;
    let began = Instant::now();
    let events =
        "SELECT event_id, seq, run_seq, agent_id, run_id, level, event_type, node_id, tool_call_id, created_at,
                         payload_json FROM events WHERE session_id = ?1 ORDER BY seq";
    each_json(&database, events, long, 10, |json| serde_json::from_str::<Object>(json).is_ok())?;
    let nodes = "SELECT node_id, node_seq, parent_id, agent_id, run_id, role, node_type, metadata_json, token_count,
                        created_at, content_json FROM nodes WHERE session_id = ?1 ORDER BY node_seq";
    each_json(&database, nodes, long, 10, |json| serde_json::from_str::<Vec<ContentBlock>>(json).is_ok())?;
    Ok(began.elapsed())
}

fn each_json(
    database: &Connection,
    sql: &str,
    long: &Long,
    column: usize,
    parse: fn(&str) -> bool,
) -> Result<(), BenchError> {
    let mut statement = database.prepare(sql)?;
    let mut rows = statement.query([long.session_id.as_str()])?;
    while let Some(row) = rows.next()? {
        for other in 0..column {
            std::hint::black_box(row.get_ref(other)?);
        }
        std::hint::black_box(row.get_ref(column)?.as_str().is_ok_and(parse));
    }
    Ok(())
}

/// From the start of the process to the end of the first line it prints; then it prints the rest.
fn first_line(bench: &Bench, home: &TestHome, long: &Long) -> Result<Duration, BenchError> {
    let agent = &bench.programs.agent;
    let failed = |step| BenchError::file(step, agent);
    let mut command = home.command(agent);
    command.args(["replay", long.session_id.as_str()]).stdout(Stdio::piped()).stderr(Stdio::null());
    let began = Instant::now();
    let mut process = command.spawn().map_err(failed("start"))?;
    let mut took = Duration::ZERO;
    if let Some(stdout) = process.stdout.take() {
        let (mut said, mut line, mut rest) = (BufReader::new(stdout), String::new(), Vec::new());
        said.read_line(&mut line).map_err(failed("read from"))?;
        took = began.elapsed();
        said.read_to_end(&mut rest).map_err(failed("read from"))?;
    }
    process.wait().map_err(failed("wait for"))?;
    Ok(took)
}
