//! The test program as a process of its own, which works on Tasks until it is killed.

use std::io::{self, BufRead, BufReader, Lines, Write as _};
use std::path::Path;
use std::process::{Child as Process, ChildStdout, Command, Stdio};

use crate::work::{self, Number};

const FOLDER: &str = "AGENT_TASK_STORE_TEST_FOLDER";
const FIRST: &str = "AGENT_TASK_STORE_TEST_FIRST";
/// Tells our lines from those of the test harness.
const MARK: &str = "@ ";

/// What the process says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Said {
    /// The Tasks were taken up.
    Opened,
    /// The next command is given now.
    Begins(Number),
    /// It has returned: what it did is on disk.
    Done(Number),
}

/// Not a test of its own: the entry of the processes that the other test starts.
#[test]
fn entry() {
    let (Some(folder), Ok(first)) = (std::env::var_os(FOLDER), std::env::var(FIRST)) else { return };
    let first: u64 = first.parse().unwrap();
    let mut store = work::open(Path::new(&folder), Number(first));
    say("opened");
    for number in first + 1.. {
        say(&format!("begins {number}"));
        work::execute(&mut store, Number(number));
        say(&format!("done {number}"));
    }
}

fn say(line: &str) {
    let mut out = io::stdout().lock();
    // A line of its own: the harness leaves the line with the test's name open.
    write!(out, "\n{MARK}{line}\n").unwrap();
    out.flush().unwrap();
}

/// A process of this test program. Killed when it is dropped.
pub(crate) struct Child {
    process: Process,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Child {
    /// It takes up the Tasks of the folder, and goes on with the commands after `first`.
    pub(crate) fn start(folder: &Path, first: Number) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["child::entry", "--exact", "--nocapture", "--test-threads=1"])
            .env(FOLDER, folder)
            .env(FIRST, first.0.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        Self { process, lines }
    }

    /// The next thing it says; none once it has ended.
    pub(crate) fn hear(&mut self) -> Option<Said> {
        // A line that was cut when the process was killed has no mark, or not all its words.
        self.lines.by_ref().map(Result::unwrap).find_map(|line| {
            let mut words = line.strip_prefix(MARK)?.split(' ');
            let what = words.next()?;
            let number = words.next().map(|number| Number(number.parse().unwrap()));
            match (what, number) {
                ("opened", None) => Some(Said::Opened),
                ("begins", Some(number)) => Some(Said::Begins(number)),
                ("done", Some(number)) => Some(Said::Done(number)),
                _ => panic!("it says {line:?}"),
            }
        })
    }

    /// SIGKILL, and waits until it is gone.
    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
