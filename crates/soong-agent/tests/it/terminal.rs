//! The command on a pseudo-terminal that is its controlling one.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcgetattr, tcsetwinsize};

use crate::process::{code, wait};
use crate::support::{BIN, World};
use crate::watched::Watched;

/// A terminal, a process that leads its session, and the person in front of it.
pub(crate) struct Terminal {
    child: Child,
    window: Window,
    screen: Watched,
    /// Up to here the person has read.
    read: usize,
    /// The process's side, held open so that its settings can be compared.
    line: Option<OwnedFd>,
    settings: String,
}

impl World {
    /// The command for a terminal: it leads a session whose terminal is its stdin.
    pub(crate) fn on_terminal<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        let mut command = self.home.command("setsid");
        command.args(["--ctty", BIN]).args(arguments).env("TERM", "xterm-256color");
        command
    }

    /// A shell script for a terminal, for what needs a pipe in front of the command; `$0` is the command.
    pub(crate) fn script_on_terminal(&self, script: &str) -> Command {
        let mut command = self.home.command("setsid");
        command.args(["--ctty", "sh", "-c", script, BIN]).env("TERM", "xterm-256color");
        command
    }
}

impl Terminal {
    pub(crate) fn start(command: Command) -> Self {
        Self::start_on(pair(), command)
    }

    /// On a terminal of this many columns.
    pub(crate) fn start_of(columns: u16, command: Command) -> Self {
        let (person, line) = pair();
        tcsetwinsize(&person, size(columns, 24)).unwrap();
        Self::start_on((person, line), command)
    }

    fn start_on((person, line): (File, OwnedFd), mut command: Command) -> Self {
        let side = || Stdio::from(line.try_clone().unwrap());
        let settings = settings(&line);
        let child = command.stdin(side()).stdout(side()).stderr(side()).spawn().expect("the command starts");
        // It holds copies of the line, and the screen ends only when nobody has one.
        drop(command);
        let window = Window { person: Arc::new(person), closed: Arc::default() };
        let screen = Watched::new(window.clone());
        Self { child, window, screen, read: 0, line: Some(line), settings }
    }

    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        tcsetwinsize(&*self.window.person, size(columns, rows)).unwrap();
    }

    /// Waits until this has come up on the screen since the last time.
    #[track_caller]
    pub(crate) fn shows(&mut self, text: &str) -> &mut Self {
        self.read = self.screen.wait_for(text, self.read);
        self
    }

    pub(crate) fn types(&mut self, text: &str) -> &mut Self {
        (&*self.window.person).write_all(text.as_bytes()).unwrap();
        self
    }

    /// Waits for the end: the code, and all that was on the screen. The terminal is as it was before (CLI-09).
    #[track_caller]
    pub(crate) fn ends(mut self) -> (i32, String) {
        let status = wait(&mut self.child, &self.screen);
        let line = self.line.take().unwrap();
        assert_eq!(settings(&line), self.settings, "the terminal's settings");
        drop(line);
        let screen = String::from_utf8(self.screen.whole()).expect("a screen is UTF-8");
        assert!(!screen.contains("panicked"), "{screen}");
        (code(status), screen)
    }

    /// Closes the window, then waits for the end.
    #[track_caller]
    pub(crate) fn closes(mut self) -> i32 {
        drop(self.line.take());
        self.window.closed.store(true, Ordering::Relaxed);
        self.screen.whole();
        // The last copies of the person's side: the kernel hangs up.
        self.window.person = Arc::new(File::open("/dev/null").unwrap());
        code(wait(&mut self.child, &self.screen))
    }
}

/// The person's side of the terminal, until it is closed.
#[derive(Clone)]
struct Window {
    person: Arc<File>,
    closed: Arc<AtomicBool>,
}

impl Read for Window {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let moment = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
        while !self.closed.load(Ordering::Relaxed) {
            if poll(&mut [PollFd::new(&self.person, PollFlags::IN)], Some(&moment))? > 0 {
                return (&*self.person).read(into);
            }
        }
        Ok(0)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn size(columns: u16, rows: u16) -> Winsize {
    Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

fn pair() -> (File, OwnedFd) {
    let keyboard = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&keyboard).unwrap();
    unlockpt(&keyboard).unwrap();
    let name = ptsname(&keyboard, Vec::new()).unwrap();
    let line = open(name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).unwrap();
    (File::from(keyboard), line)
}

fn settings(line: &OwnedFd) -> String {
    format!("{:?}", tcgetattr(line).unwrap())
}
