//! A session of 2,000 turns at a small window: it never stops, never loops, and holds its user's first words at its end.

mod figures;
mod model;
mod size;
mod user;

use std::io::Write as _;
use std::process::Stdio;

use agent_testkit::{ScriptedServer, TestHome};

use super::definition::Suite;
use crate::bench::Bench;
use crate::error::BenchError;
use crate::report::Row;
use crate::talk::{Talk, Talked};
use figures::Figures;
use model::{Model, Summaries};
use user::User;

pub(super) const SUITE: Suite = Suite {
    name: "long-session",
    about: "2,000 turns of one session at a window of 8,192 tokens, reopened every 50 runs",
    // Takes a minute, most of it waiting to ask again for summaries that failed.
    by_name_only: true,
    measure,
};

const TURNS: usize = 2_000;
/// Runs before another process goes on.
const RUNS_OF_A_PROCESS: usize = 50;
/// The contract's own configuration, which has a window of 8,192 tokens.
const CONFIG: &str = "memory.enabled = false";
const TWO_SLOTS: &str = "memory.enabled = false\nmodel.parallel_requests = 2";

/// The worlds the same session happens in.
const WORLDS: [World; 4] = [
    World { name: "one slot, good summaries", config: CONFIG, summaries: Summaries::Good },
    World { name: "one slot, half of them bad", config: CONFIG, summaries: Summaries::HalfBad },
    World { name: "two slots, good summaries", config: TWO_SLOTS, summaries: Summaries::Good },
    World { name: "two slots, half of them bad", config: TWO_SLOTS, summaries: Summaries::HalfBad },
];

struct World {
    name: &'static str,
    config: &'static str,
    summaries: Summaries,
}

fn measure(bench: &Bench) -> Result<Vec<Row>, BenchError> {
    let program = bench.programs.also("soong-bench", "conversation")?;
    let mut rows = Vec::new();
    for world in WORLDS {
        let figures = session(bench, &program, &world)?;
        for broken in figures.broken.iter().take(5) {
            println!("{}: {broken}", world.name);
        }
        rows.extend(figures.rows(world.name)?);
    }
    Ok(rows)
}

fn session(bench: &Bench, program: &std::path::Path, world: &World) -> Result<Figures, BenchError> {
    let mut server = ScriptedServer::builder().keep_requests(0).start_blocking();
    // What is invalid is told with the figures.
    server.tolerate_invalid();
    let model = Model::new(world.summaries);
    server.respond_with(model.responder());
    let home = TestHome::new("long_session");
    let protocol = bench.provider.protocol();
    home.write_config(&server.base_url(protocol), protocol.provider(), world.config);
    for (file, text) in model::files() {
        home.write(home.project.join(file), text);
    }
    let mut user = User::new();
    let (mut session_id, mut told) = (None, Vec::new());
    while model.turns() < TURNS {
        let messages = (0..RUNS_OF_A_PROCESS).map(|_| user.next_message()).collect();
        let talk = Talk { session_id: session_id.clone(), messages, waits: told.len() % 2 == 0 };
        let talked = part(&home, program, &model, &talk)?;
        session_id = Some(talked.session_id.clone());
        let stuck = talked.stuck;
        told.push(talked);
        if stuck {
            break;
        }
    }
    let figures = Figures::of(&home, &model.seen(), &user, &told, server.violations())?;
    if figures.broken.is_empty() {
        home.remove();
    } else {
        println!("{}: the session is left in {}", world.name, home.home.display());
    }
    Ok(figures)
}

/// Goes on with the session in a process of its own.
fn part(home: &TestHome, program: &std::path::Path, model: &Model, talk: &Talk) -> Result<Talked, BenchError> {
    let failed = |step| BenchError::file(step, program);
    let mut command = home.command(program);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(failed("start"))?;
    model.watch(child.id());
    if let Some(mut stdin) = child.stdin.take() {
        let talk = serde_json::to_vec(talk).map_err(|source| BenchError::Body { source })?;
        stdin.write_all(&talk).map_err(failed("talk to"))?;
    }
    let output = child.wait_with_output().map_err(failed("wait for"))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(BenchError::Failed { program: program.display().to_string(), code: output.status.code(), stderr });
    }
    serde_json::from_slice(&output.stdout).map_err(|source| BenchError::Launcher { source })
}
