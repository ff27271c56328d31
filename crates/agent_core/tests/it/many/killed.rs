//! Worlds whose process is killed.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use agent_core::StartOptions;
use agent_core::id::SessionId;
use agent_core::runtime::RunMode;
use agent_testkit::TestHome;

use super::dice::Dice;
use super::lives::{self, configuration};
use super::monkey::Monkey;
use super::tally::Tally;
use super::{checks, seed};

/// Set for the process that is going to be killed: the home it works in, and its seed.
const HOME: &str = "AGENT_CORE_TEST_WORLD_HOME";
const SEED: &str = "AGENT_CORE_TEST_WORLD_SEED";
const AT_WORK: &str = "a world is at work in ";
const THIS_TEST: &str = "many::killed::random_worlds_that_are_killed";

/// RUN-20, AGT-4, WRK-7, TSK-5, WAL-2: whatever many agents are at when their process is killed, the next one ends their runs, children
/// first, finds each step by its lease, answers every call, and goes on.
#[test]
fn random_worlds_that_are_killed() {
    if let Some(home) = std::env::var_os(HOME) {
        let seed = std::env::var(SEED).unwrap().parse().unwrap();
        return work_until_killed(home.into(), seed);
    }
    let rounds: u64 = std::env::var("SOONG_AGENT_WORLDS_KILLS").ok().map_or(6, |text| text.parse().unwrap());
    let mut seeds = Dice::of_the_moment();
    let tally = Tally::default();
    for _ in 0..rounds {
        let seed = seed().unwrap_or_else(|| seeds.next());
        let _says = lives::SaysSeed(seed);
        let mut dice = Dice::new(seed);
        let home = TestHome::new("world_killed");
        home.write_config("http://127.0.0.1:9", "openai", &configuration());
        let mut session = None;
        for life in 0..1 + dice.below(2) {
            tally.count(|tally| &tally.lives);
            session = Some(killed(&home, seed ^ life, session.as_ref(), Duration::from_millis(dice.below(900))));
        }
        let monkey = Monkey::new(seed, String::new());
        let session = session.unwrap();
        lives::last_life(&home.home, &home.project, &monkey, &session);
        checks::what_is_stored(&home, &session, false, &tally);
        tally.count(|tally| &tally.worlds);
        home.remove();
    }
    println!("random worlds that were killed: {tally}");
}

/// A process at work, killed so long after its first run began.
fn killed(home: &TestHome, seed: u64, session: Option<&SessionId>, after: Duration) -> SessionId {
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args([THIS_TEST, "--exact", "--nocapture"])
        .env(HOME, &home.home)
        .env(SEED, seed.to_string())
        .env("AGENT_CORE_TEST_WORLD_SESSION", session.map(ToString::to_string).unwrap_or_default())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let session =
        lines.map_while(Result::ok).find_map(|line| SessionId::parse(line.split_once(AT_WORK)?.1.trim()).ok());
    std::thread::sleep(after);
    process.kill().unwrap();
    process.wait().unwrap();
    session.expect("the process said where it is at work")
}

#[expect(clippy::print_stdout, reason = "the process that kills this one reads it")]
fn work_until_killed(home: PathBuf, seed: u64) {
    let mut dice = Dice::new(seed);
    let project = home.parent().unwrap().join("project");
    let given = std::env::var("AGENT_CORE_TEST_WORLD_SESSION").unwrap();
    let mut session = SessionId::parse(&given).ok();
    // Its commands end by themselves: nobody is there to end them.
    let monkey = Monkey::new(seed, "0.2".to_owned());
    let process = tokio::runtime::Runtime::new().unwrap();
    process.block_on(async {
        let runtime = lives::builder(&home, &project, &monkey)
            .permission_callback(lives::Person::new(&dice))
            .build()
            .await
            .unwrap();
        let mut is_told = false;
        loop {
            let mode = *dice.pick(&[RunMode::Normal, RunMode::Orchestrator, RunMode::Orchestrator]);
            let options = StartOptions { session_id: session.clone(), mode: Some(mode) };
            let handle = runtime.start("Do something.", options).await.unwrap();
            if !is_told {
                println!("\n{AT_WORK}{}", handle.session_id());
                is_told = true;
            }
            session = Some(handle.session_id().clone());
            handle.wait().await;
        }
    });
}
