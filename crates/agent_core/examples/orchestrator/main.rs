//! A Task of five steps over three workers: who works on what, and when.
//!
//! ```sh
//! cargo run -p agent_core --example orchestrator [FOLDER]
//! ```
//!
//! No model server is needed: a script plays the model (`model.rs`), and takes 200 ms for a turn. What a program needs is in `crew.rs`.
//!
//! Sessions and project lie in FOLDER. Kill the process in the middle (`kill -9`) and start it again with the same FOLDER: it goes on with
//! the Task from where its log ends.

#![expect(clippy::print_stdout, reason = "it is a program for people")]

mod chart;
mod crew;
mod model;

use std::path::PathBuf;
use std::time::Duration;

use crew::Failure;

const TURN: Duration = Duration::from_millis(200);

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let folder =
        std::env::args_os().nth(1).map_or_else(|| std::env::temp_dir().join("orchestrator-example"), PathBuf::from);
    model::write_files(&folder.join("project"))?;
    println!("process {}, folder {}", std::process::id(), folder.display());
    let server = model::serve(TURN);
    let report =
        crew::work(&folder, &server.base_url(agent_testkit::Protocol::OpenAi), &|line| println!("{line}")).await?;

    println!("\n{}\n\n{}", report.answer, chart::timeline(&report));
    let row = TURN * chart::turns_in_a_row(&report);
    let ratio = report.took.as_secs_f64() / row.as_secs_f64();
    println!(
        "took {:.2} s; the turns that wait for each other take {:.2} s: {ratio:.2}",
        report.took.as_secs_f64(),
        row.as_secs_f64()
    );
    let how = if report.resumed { "went on with" } else { "made" };
    println!("{how} {} of session {}:\n{}", report.log.display(), report.session_id, chart::log(&report)?);
    Ok(())
}
