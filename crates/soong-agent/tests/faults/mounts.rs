//! What a command is put into: a place with mounts of its own, or a limit on the size of files.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use agent_testkit::{TestHome, not_tried};
use rustix::process::{Pid, Signal, kill_process};

use crate::world::binary;

/// What the command is put into.
pub(crate) enum Around {
    Nothing,
    Mounts(Mounts),
    /// No file may grow beyond this many blocks of 512 bytes. Works for everybody, where mounts need help.
    FileSize(u64),
    /// Without any of root's powers, so that file modes count.
    Powerless,
}

impl Around {
    /// The command, with its words still to come.
    pub(crate) fn command(&self, home: &TestHome) -> Command {
        match self {
            Self::Nothing => home.command(binary()),
            Self::Mounts(mounts) => mounts.enter(home, binary()),
            Self::FileSize(blocks) => {
                let mut command = home.command("sh");
                command.args(["-c", &format!("ulimit -f {blocks}; exec \"$0\" \"$@\"")]).arg(binary());
                command
            }
            Self::Powerless if rustix::process::geteuid().is_root() => {
                let mut command = home.command("setpriv");
                command.args(["--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all"]).arg(binary());
                command
            }
            Self::Powerless => home.command(binary()),
        }
    }

    /// The home as it can be looked at from here. Of one that lies behind a mount that is a copy: SQLite follows the
    /// links in a path itself, and would not get through.
    pub(crate) fn seen(&self, home: &TestHome) -> PathBuf {
        match self {
            Self::Mounts(mounts) => {
                let copy = home.root.join("seen");
                // There is none the first time.
                let _ = fs::remove_dir_all(&copy);
                copy_folder(&mounts.through(&home.home), &copy);
                copy
            }
            Self::Nothing | Self::FileSize(_) | Self::Powerless => home.home.clone(),
        }
    }

    /// What was used, for the report.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Mounts(mounts) => mounts.way.name,
            Self::FileSize(_) => "ulimit -f",
            Self::Powerless => "modes",
        }
    }
}

/// A way to get mounts of one's own.
#[derive(Debug, Clone, Copy)]
struct Way {
    name: &'static str,
    make: &'static [&'static str],
    enter: &'static [&'static str],
}

const WAYS: &[Way] = &[
    Way { name: "mounts of root's", make: &["--mount"], enter: &["--mount"] },
    Way {
        name: "mounts in a user namespace",
        make: &["--user", "--map-root-user", "--mount"],
        enter: &["--user", "--preserve-credentials", "--mount"],
    },
];

/// A namespace of mounts, kept by a process that waits for its end.
pub(crate) struct Mounts {
    keeper: Child,
    way: Way,
}

impl Mounts {
    /// With this done in it by a shell, for which `$0` is the home. `None` if there can be no such thing on this
    /// machine; that is told, with what the test does instead.
    pub(crate) fn make(home: &TestHome, script: &str, instead: &str) -> Option<Self> {
        let made = WAYS.iter().find_map(|way| Self::make_by(*way, home, script));
        if made.is_none() {
            not_tried(&format!("mounts (`unshare --mount` does not work here); tried instead: {instead}"));
        }
        made
    }

    fn make_by(way: Way, home: &TestHome, script: &str) -> Option<Self> {
        let mut command = home.command("unshare");
        // With another HOME than the world's processes, which are ended when a round is over.
        command.args(way.make).args(["sh", "-c"]).arg(format!("set -e; {script}; echo made; exec cat"));
        command.arg(&home.home).env("HOME", "/").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut keeper = command.spawn().ok()?;
        let mut line = String::new();
        let said = BufReader::new(keeper.stdout.take()?).read_line(&mut line);
        let mounts = Self { keeper, way };
        (said.is_ok() && line == "made\n").then_some(mounts)
    }

    /// A program inside, in the project, with its words still to come.
    pub(crate) fn enter(&self, home: &TestHome, program: OsString) -> Command {
        let mut command = home.command("nsenter");
        command.arg("--target").arg(self.keeper.id().to_string()).args(self.way.enter);
        // Whoever enters stands in the root folder.
        command.args(["sh", "-c", "cd \"$0\" && exec \"$@\""]).arg(&home.project).arg(program);
        command
    }

    /// The way from here to a path inside.
    fn through(&self, path: &Path) -> PathBuf {
        let root = PathBuf::from(format!("/proc/{}/root", self.keeper.id()));
        root.join(path.strip_prefix("/").unwrap_or(path))
    }
}

impl Drop for Mounts {
    fn drop(&mut self) {
        if let Some(pid) = Pid::from_raw(self.keeper.id() as i32) {
            // It may have ended already; then it is only waited for.
            let _ = kill_process(pid, Signal::KILL);
        }
        let _ = self.keeper.wait();
    }
}

/// A disk of its own for the home, which can be filled.
pub(crate) struct Disk {
    size: u64,
}

impl Disk {
    /// Puts the world's home on a small disk, or under a limit where it cannot be had. The home must hold no more
    /// than its configuration.
    pub(crate) fn under(home: &TestHome, size: u64) -> (Self, Around) {
        let script = format!(
            "cp \"$0/config.toml\" \"$0/../config.toml\"; mount -t tmpfs -o size={size},mode=0700 none \"$0\"; \
             cp \"$0/../config.toml\" \"$0/config.toml\""
        );
        let around = Mounts::make(home, &script, "a limit on the size of files")
            .map_or(Around::FileSize(size / 512), Around::Mounts);
        (Self { size }, around)
    }

    /// Leaves this much room: on the disk, or for every file.
    pub(crate) fn leave(&self, around: &mut Around, home: &TestHome, bytes: u64) {
        match around {
            Around::Mounts(mounts) => {
                let inside = mounts.through(&home.home);
                let free = rustix::fs::statvfs(&inside).map(|disk| disk.f_bavail * disk.f_frsize).unwrap();
                fs::write(inside.join(FILLER), vec![0; free.saturating_sub(bytes) as usize]).unwrap();
            }
            Around::FileSize(blocks) => *blocks = bytes / 512,
            Around::Nothing | Around::Powerless => {}
        }
    }

    /// Gives all of it free again.
    pub(crate) fn free(&self, around: &mut Around, home: &TestHome) {
        match around {
            Around::Mounts(mounts) => fs::remove_file(mounts.through(&home.home).join(FILLER)).unwrap(),
            Around::FileSize(blocks) => *blocks = self.size / 512,
            Around::Nothing | Around::Powerless => {}
        }
    }
}

/// What fills a disk.
const FILLER: &str = "filler";

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &target);
        } else if entry.file_name() != FILLER {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
