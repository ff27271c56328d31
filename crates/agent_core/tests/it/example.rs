//! The example `orchestrator`, as its readers run it.

#[path = "../../examples/orchestrator/chart.rs"]
mod chart;
#[path = "../../examples/orchestrator/crew.rs"]
mod crew;
#[path = "../../examples/orchestrator/model.rs"]
mod model;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent_core::task::{StepId, TaskStatus};
use agent_testkit::{Gate, Protocol, RecordedRequest, Reply, ScriptedServer, scratch};

/// The steps that can be done at the same time.
const WAVE: [&str; 3] = ["api", "errors", "examples"];

/// A worker of that wave, and its turn.
fn in_wave(request: &RecordedRequest) -> Option<usize> {
    let order = request.messages().iter().find(|message| message["role"] == "user")?;
    let is_sent_for = |step: &&str| order["content"].as_str().is_some_and(|it| it.contains(&format!("step {step}.")));
    WAVE.iter().any(is_sent_for).then(|| request.turn())
}

/// RUN-11, WRK-4, WRK-6: five steps over three workers: each step is done once, by the worker that was sent for it, in the order of the graph, and
/// the three that wait for nothing but the first are done at the same time: none of them gets a word before all three have asked.
#[tokio::test]
async fn five_steps_over_three_workers() {
    let folder = scratch("example_orchestrator");
    model::write_files(&folder.join("project")).unwrap();
    let server = ScriptedServer::start_blocking();
    let held: Mutex<Vec<Gate>> = Mutex::default();
    server.respond_with(move |request, _| {
        if in_wave(request) != Some(0) {
            return model::says(request);
        }
        let (reply, gate) = model::says(request).gated();
        let mut held = held.lock().unwrap();
        held.push(gate);
        if held.len() == WAVE.len() {
            held.clear();
        }
        reply
    });
    let said = Mutex::new(Vec::new());
    let say = |line: &str| said.lock().unwrap().push(line.to_owned());
    let report = crew::work(&folder, &server.base_url(Protocol::OpenAi), &say).await.unwrap();

    assert_eq!((report.answer.as_str(), report.resumed), ("The release notes are written.", false));
    assert_eq!(report.task.status, TaskStatus::Completed);
    let results: Vec<_> = report.task.steps.iter().filter_map(|step| step.result_summary.as_deref()).collect();
    assert_eq!(results[0], "CHANGES.md: nothing that breaks.");
    assert_eq!(results.len(), 5);
    let waves = chart::waves(&report.task);
    let waves: Vec<Vec<_>> = waves.iter().map(|wave| wave.iter().map(StepId::as_str).collect()).collect();
    assert_eq!(waves, [vec!["changes"], WAVE.to_vec(), vec!["notes"]]);

    let of = |step: &str| {
        let mut jobs = report.jobs.iter().filter(|job| job.step.as_ref().is_some_and(|it| it.as_str() == step));
        let job = jobs.next().unwrap_or_else(|| panic!("nobody did {step}"));
        assert!(jobs.next().is_none(), "{step} was done twice");
        job
    };
    let wave = WAVE.map(of);
    assert_eq!(wave.map(|job| job.worker.as_str()), ["ada", "ben", "cleo"], "the first idle one each, in their order");
    let last_begin = wave.iter().map(|job| job.from).max().unwrap();
    assert!(wave.iter().all(|job| of("changes").to <= job.from && last_begin <= job.to && job.to <= of("notes").from));
    assert!(of("notes").to <= report.took);

    // Made, three times sent, completed, told; and the five turns of one worker of each wave.
    assert_eq!((report.turns, chart::turns_in_a_row(&report)), (6, 6 + 3 * 5));
    let timeline = chart::timeline(&report);
    assert!(timeline.contains("\nwave 2  errors     ben    "), "{timeline}");
    let claim = |line: &String| line.contains("cleo          agent.task_claim_step examples of release");
    assert!(said.lock().unwrap().iter().any(claim), "{said:?}");
    let log = chart::log(&report).unwrap();
    assert_eq!(log.matches("task_step_completed").count(), 5, "{log}");
    assert!(log.trim_end().ends_with("task_completed"), "{log}");
}

/// Set for the process that is going to be killed: the folder it works in.
const FOLDER: &str = "AGENT_CORE_TEST_EXAMPLE_FOLDER";
/// What it prints when all three workers hold a step.
const AT_WORK: &str = "three workers at work";
const THIS_TEST: &str = "example::a_killed_process_is_gone_on_with";

/// WAL-2, WRK-7, RUN-20: the process is killed while three workers hold a step each; started again with the same folder, the example goes on with
/// the same session and Task. What was acknowledged is in the log as it was, and each step is completed once.
#[tokio::test]
async fn a_killed_process_is_gone_on_with() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        return work_until_killed(Path::new(&folder)).await;
    }
    let folder = scratch("example_killed");
    model::write_files(&folder.join("project")).unwrap();
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args([THIS_TEST, "--exact", "--nocapture"])
        .env(FOLDER, &folder)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines().map_while(Result::ok);
    let is_at_work = lines.any(|line| line.contains(AT_WORK));
    process.kill().unwrap();
    process.wait().unwrap();
    assert!(is_at_work, "the process said that its workers are at work");
    let before = fs::read_to_string(only_log(&folder)).unwrap();
    assert_eq!(before.matches("\"task_step_claimed\"").count(), 4, "{before}");
    assert_eq!(before.matches("\"task_step_completed\"").count(), 1, "{before}");

    let server = model::serve(Duration::ZERO);
    let report = crew::work(&folder, &server.base_url(Protocol::OpenAi), &|_| ()).await.unwrap();
    assert!(report.resumed);
    assert_eq!(report.task.status, TaskStatus::Completed);
    assert_eq!(report.log, only_log(&folder));
    assert!(report.log.parent().unwrap().ends_with(report.session_id.as_str()));
    let after = fs::read_to_string(&report.log).unwrap();
    assert!(after.starts_with(&before), "{after}");
    assert_eq!(after.matches("\"task_step_completed\"").count(), 5, "{after}");
    assert_eq!(report.jobs.len(), 4, "the step that was completed is not done again");
}

/// The log of the only Task of the only session.
fn only_log(folder: &Path) -> std::path::PathBuf {
    let only = |folder: &Path, mark: &str| {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
        let mut found: Vec<_> = entries.filter(|entry| entry.file_name().to_str().unwrap().contains(mark)).collect();
        assert_eq!(found.len(), 1, "{found:?}");
        found.remove(0).path()
    };
    only(&only(&folder.join("project/.soong-agent/tasks"), "sess_"), ".wal.jsonl")
}

#[expect(clippy::print_stdout, reason = "the process that kills this one reads it")]
async fn work_until_killed(folder: &Path) {
    let server = ScriptedServer::start_blocking();
    let hung = Arc::new(Mutex::new(0));
    server.respond_with(move |request, _| {
        if in_wave(request) != Some(2) {
            return model::says(request);
        }
        let mut hung = hung.lock().unwrap();
        *hung += 1;
        if *hung == WAVE.len() {
            println!("\n{AT_WORK}");
        }
        Reply::hang()
    });
    // It is killed in here.
    let _ = crew::work(folder, &server.base_url(Protocol::OpenAi), &|_| ()).await;
}
