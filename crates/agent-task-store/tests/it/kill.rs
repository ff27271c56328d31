//! `kill -9` at any moment of a command.

use std::collections::BTreeMap;
use std::fs;
use std::hint::spin_loop;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use agent_testkit::{going_on, scratch};

use crate::child::{Child, Said};
use crate::model::{InFlight, Model};
use crate::work::{self, Dice, Number};

/// Rounds of an ordinary test run; the environment may ask for more.
const ROUNDS: usize = 20;
/// A command with its sync takes less than that on most disks.
const WITHIN_A_COMMAND: u64 = 3_000;

fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().expect("it is a number"))
}

/// WAL-2, WAL-4: what the other test rests on: a beginning of the lines under way is accepted, wherever a power cut ends them, and the Tasks are taken up
/// with it; a line less than what was acknowledged, or another one, is noticed.
#[test]
fn what_is_missing_is_noticed() {
    let folder = scratch("task-cuts");
    let (tasks, copy) = (folder.join("tasks/sess_kill"), folder.join("copy"));
    let mut model = Model::default();
    let mut store = work::open(&tasks, Number(1));
    let (mut whole, mut part, mut lost, mut noticed) = (0, 0, 0, 0);
    for number in (2..=30).map(Number) {
        let before: BTreeMap<_, _> = sizes(&tasks);
        work::execute(&mut store, number);
        for (name, len) in sizes(&tasks) {
            let acknowledged = before.get(&name).copied().unwrap_or_default();
            for cut in (acknowledged..=len).step_by(173).chain([acknowledged, len]).filter(|_| len > acknowledged) {
                let (path, mut model) = (cut_copy(&tasks, &copy, &name, cut), model.clone());
                match model.check(&copy, Some(number), Number(1)).unwrap().0 {
                    InFlight::Whole => whole += 1,
                    InFlight::Part => part += 1,
                    InFlight::Lost => lost += 1,
                    InFlight::Nothing => panic!("{number:?} writes {}", len - acknowledged),
                }
                drop(work::open(&copy, Number(number.0 + 1)));
                model.opened(Number(number.0 + 1));
                assert_eq!(model.check(&copy, None, number).unwrap(), (InFlight::Nothing, 0), "{path:?} cut at {cut}");
            }
            // The last line that was acknowledged is gone, whole.
            let bytes = fs::read(tasks.join(&name)).unwrap();
            let lines: Vec<usize> = (0..acknowledged).filter(|at| bytes[*at] == b'\n').collect();
            if let [.., last, _] = lines[..] {
                cut_copy(&tasks, &copy, &name, last + 1);
                let checked = model.clone().check(&copy, Some(number), Number(1));
                assert!(checked.is_err(), "{name} {number:?}: {checked:?}");
                noticed += 1;
            }
        }
        model.done(number);
    }
    assert!(whole > 20 && part > 5 && lost > 20 && noticed > 20, "{whole} {part} {lost} {noticed}");
    fs::remove_dir_all(&folder).unwrap();
}

fn sizes(folder: &Path) -> BTreeMap<String, usize> {
    let Ok(entries) = fs::read_dir(folder) else { return BTreeMap::new() };
    let entries = entries.map(Result::unwrap);
    entries.map(|entry| (entry.file_name().into_string().unwrap(), entry.metadata().unwrap().len() as usize)).collect()
}

/// The folder as it is, but for one file that ends earlier.
fn cut_copy(folder: &Path, copy: &Path, name: &str, len: usize) -> PathBuf {
    let _ = fs::remove_dir_all(copy);
    fs::create_dir_all(copy).unwrap();
    for file in sizes(folder).into_keys() {
        fs::copy(folder.join(&file), copy.join(&file)).unwrap();
    }
    let path = copy.join(name);
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(len as u64).unwrap();
    path
}

/// WAL-2, WAL-4, WAL-5, TST-5: whatever a process was doing when it was killed, what it had acknowledged is there, whole, and replay
/// gives exactly that; besides, there is at most a beginning of the lines of the command that was under way. The next process goes on.
#[test]
fn acknowledged_commands_survive_kill_9() {
    let rounds = from_environment("SOONG_AGENT_FAULT_ROUNDS").map_or(ROUNDS, |rounds| rounds as usize);
    let seed = from_environment("SOONG_AGENT_FAULT_SEED").unwrap_or_else(|| {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::from(since_1970.subsec_nanos())
    });
    println!("faults: kill -9 during task writes: seed {seed}");
    let folder = scratch("task-kills");
    let tasks = folder.join("tasks/sess_kill");
    let (mut dice, mut model, mut last) = (Dice(seed), Model::default(), Number(0));
    let (mut acknowledged, mut in_flight, mut torn, mut lost) = (0, [0; 3], 0, Vec::new());
    for round in 1..=rounds {
        going_on();
        let first = Number(last.0 + 1);
        last = first;
        let mut child = Child::start(&tasks, first);
        let mut said = Vec::new();
        // Killed after another number of words each time, and somewhere in what comes next.
        for _ in 0..dice.below(60) {
            said.push(child.hear().expect("the child goes on until it is killed"));
        }
        let (began, after) = (Instant::now(), Duration::from_micros(dice.below(WITHIN_A_COMMAND)));
        while began.elapsed() < after {
            spin_loop();
        }
        child.kill();
        said.extend(std::iter::from_fn(|| child.hear()));
        let mut begun = None;
        for said in said {
            match said {
                Said::Opened => model.opened(first),
                Said::Begins(number) => (begun, last) = (Some(number), number),
                Said::Done(number) => {
                    assert_eq!(begun.take(), Some(number));
                    model.done(number);
                    acknowledged += 1;
                }
            }
        }
        match model.check(&tasks, begun, first) {
            Ok((found, bytes)) => {
                println!("round {round}: {} commands before, {found:?} of {begun:?}, {bytes} torn bytes", acknowledged);
                match found {
                    InFlight::Nothing => {}
                    InFlight::Lost => in_flight[0] += 1,
                    InFlight::Part => in_flight[1] += 1,
                    InFlight::Whole => in_flight[2] += 1,
                }
                torn += usize::from(bytes > 0);
            }
            Err(why) => {
                lost.push(format!("round {round}: {why}"));
                break;
            }
        }
    }
    let [nothing, part, whole] = in_flight;
    println!(
        "faults: kill -9 during task writes: {rounds} rounds, {} tasks, {acknowledged} commands acknowledged; in flight: {whole} whole, \
         {part} in part, {nothing} not there, {torn} torn; {} losses",
        model.len(),
        lost.len()
    );
    assert!(lost.is_empty(), "seed {seed}: {lost:?}");
    assert!(acknowledged > rounds && whole + part + nothing > 0, "hardly anything was going on");
    fs::remove_dir_all(&folder).unwrap();
}
