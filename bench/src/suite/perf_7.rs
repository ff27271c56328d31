//! PERF-7: reading and searching big files and trees, beside `sed` and `rg`.

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use agent_testkit::scratch;

use super::definition::Suite;
use super::series::millis;
use crate::bench::Bench;
use crate::error::BenchError;
use crate::report::{Row, Unit};
use crate::stats::Samples;
use crate::tools::Tools;
use crate::words::Words;

pub(crate) const SUITE: Suite = Suite {
    name: "perf-7",
    about: "code.read_file and code.search on a file of 1 GB and a tree of 160 MB, beside sed and rg",
    // Takes rg, a gigabyte of disk, and half a minute.
    by_name_only: true,
    measure,
};

/// Lines of the big file; each has [`LINE`] bytes, so that it has 1 GB.
const LINES: u64 = 1_000_000;
const LINE: usize = 1_000;
/// Files of the tree, in folders of a hundred.
const FILES: usize = 8_000;
const FILE_LINES: usize = 400;

fn measure(bench: &Bench) -> Result<Vec<Row>, BenchError> {
    let ground = Ground::lay()?;
    let tools = Tools::in_project(&ground.root)?;
    // Each takes up to a second.
    let runs = bench.runs.min(15);
    let mut rows = reading(&tools, runs)?;
    for (what, query) in [
        ("a word with 80 hits", "needle_in_the_hay"),
        ("a regex without a literal", r"[a-z]{6}_[a-z]{2}_[a-z]{3}_[a-z]{3}"),
        ("a word of any case", "(?i)NEEDLE_in_THE_hay"),
    ] {
        for (place, path) in [("the tree", "tree"), ("the big file", "big.txt")] {
            rows.extend(searching(&tools, &ground, &format!("{what}, in {place}"), query, path, runs)?);
        }
    }
    fs::remove_dir_all(&ground.root).map_err(BenchError::file("remove", &ground.root))?;
    Ok(rows)
}

fn reading(tools: &Tools, runs: u32) -> Result<Vec<Row>, BenchError> {
    let start = |line: u64| format!(r#"{{"path":"big.txt","start_line":{line},"max_lines":200}}"#);
    let first = repeated(runs, || tools.call("code.read_file", &start(1), "line 1 "))?;
    let last = repeated(runs, || tools.call("code.read_file", &start(LINES), "line 1000000 "))?;
    let sed = |range: &str| {
        let range = range.to_owned();
        repeated(runs, || timed(tools.command("sed").args(["-n", &range, "big.txt"])))
    };
    let (sed_first, sed_last) = (sed("1,200p;200q")?, sed("1000000,1000200p")?);
    let speed = Samples::new(last.iter().map(|took| (LINES as f64 * LINE as f64 / 1e9) / took.as_secs_f64()))?;
    let millis = |times: &[Duration]| Samples::new(times.iter().copied().map(millis));
    Ok(vec![
        Row::new("read_file: the start of 1 GB", Unit::Millis, millis(&first)?).budget(1.0).floor(millis(&sed_first)?),
        Row::new("read_file: line 1,000,000 of 1 GB", Unit::Millis, millis(&last)?)
            .budget(1000.0)
            .floor(millis(&sed_last)?),
        Row::new("the same in GB/s", Unit::Ratio, speed),
    ])
}

fn searching(
    tools: &Tools,
    ground: &Ground,
    what: &str,
    query: &str,
    path: &str,
    runs: u32,
) -> Result<[Row; 2], BenchError> {
    let arguments = serde_json::json!({ "query": query, "path": path, "limit": 1000 }).to_string();
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for run in 0..=runs {
        // In turns, so that both meet the same machine.
        let our = tools.call("code.search", &arguments, "\"matches\"")?;
        let their = timed(tools.command("rg").current_dir(&ground.root).args([
            "--no-config",
            "--color=never",
            "--line-number",
            "--column",
            "-e",
            query,
            path,
        ]))?;
        if run > 0 {
            ours.push(our);
            theirs.push(their);
        }
    }
    let ratio = Samples::new(ours.iter().zip(&theirs).map(|(our, their)| our.as_secs_f64() / their.as_secs_f64()))?;
    let millis = |times: &[Duration]| Samples::new(times.iter().copied().map(millis));
    // The budget is for trees: a single file rg maps into memory, which takes code that is not checked.
    let over = Row::new(format!("the same over rg: {what}"), Unit::Ratio, ratio);
    let over = if path == "tree" { over.budget(1.3) } else { over };
    Ok([Row::new(format!("search: {what}"), Unit::Millis, millis(&ours)?).floor(millis(&theirs)?), over])
}

/// After one that does not count.
fn repeated(runs: u32, mut work: impl FnMut() -> Result<Duration, BenchError>) -> Result<Vec<Duration>, BenchError> {
    work()?;
    (0..runs).map(|_| work()).collect()
}

/// How long a program runs; one that fails is no measure.
fn timed(command: &mut Command) -> Result<Duration, BenchError> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let began = Instant::now();
    let status = command.status().map_err(BenchError::file("run", command.get_program()))?;
    let took = began.elapsed();
    if status.success() {
        Ok(took)
    } else {
        let program = format!("{command:?}");
        Err(BenchError::Failed { program, code: status.code(), stderr: String::new() })
    }
}

/// What is read and searched: made-up text that is the same each time.
struct Ground {
    root: PathBuf,
}

impl Ground {
    fn lay() -> Result<Self, BenchError> {
        let root = scratch("perf_7");
        let big = root.join("big.txt");
        write(&big, |out| {
            let mut words = Words(7);
            for line in 1..=LINES {
                let mut text = format!("line {line} ");
                while text.len() < LINE - 1 {
                    text.push_str(words.next_word());
                }
                text.truncate(LINE - 1);
                if line % 12_500 == 0 {
                    text.replace_range(500..517, "needle_in_the_hay");
                }
                text.push('\n');
                out.write_all(text.as_bytes())?;
            }
            Ok(())
        })?;
        let mut words = Words(11);
        for file in 0..FILES {
            let folder = root.join(format!("tree/module_{:02}", file / 100));
            if file % 100 == 0 {
                fs::create_dir_all(&folder).map_err(BenchError::file("make", &folder))?;
            }
            write(&folder.join(format!("file_{file:04}.rs")), |out| {
                for line in 0..FILE_LINES {
                    let mut text = String::from("    ");
                    while text.len() < 50 {
                        text.push_str(words.next_word());
                    }
                    if file % 100 == 0 && line == 200 {
                        text.push_str("needle_in_the_hay");
                    }
                    text.push('\n');
                    out.write_all(text.as_bytes())?;
                }
                Ok(())
            })?;
        }
        Ok(Self { root })
    }
}

fn write(path: &Path, fill: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>) -> Result<(), BenchError> {
    let file = File::create(path).map_err(BenchError::file("make", path))?;
    let mut out = BufWriter::with_capacity(1 << 20, file);
    fill(&mut out).and_then(|()| out.flush()).map_err(BenchError::file("write", path))
}
