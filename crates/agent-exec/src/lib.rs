//! Runs one program to its end and leaves nothing of it behind.
//!
//! [`run()`] starts a program from a [`CommandSpec`], reads both of its outputs into bounded memory, and hands back a
//! [`Finished`]. What it promises, whatever the program does:
//!
//! - it inherits nothing: its own session without a terminal, exactly the environment it was given, a null or a
//!   prepared standard input, and no other descriptor that this process opened as Rust opens files. Those that this process
//!   was itself started with are passed on, unless it called [`keep_descriptors_private`] when it began;
//! - it is what runs: a file that the system would not execute is refused, instead of being given to a shell as the C
//!   library does;
//! - a timeout, a cancel or a dropped future ends the whole process group, and on Linux also descendants that left
//!   the session; so does the end of the program itself: nothing outlives its call. What left the session, cleared its
//!   environment and lost its parent between two looks is found only in a process that called [`adopt_orphans`];
//!   A process that ends before its calls have returned calls [`kill_all()`];
//! - both outputs are drained all the time, keep a head and a tail in memory, and may send the whole to a [`Spill`];
//! - a background child that keeps the pipes open, or floods them, does not hold the call.
//!
//! What it is deliberately not: a sandbox (the program can do whatever its user can), a shell (arguments are passed
//! on as they are), a policy (which program, where, with which variables is the caller's decision), or a supervisor
//! of processes that stay.
//!
//! Reading order: [`CommandSpec`], [`run()`], [`Finished`]; then [`Capture`] and [`Output`] for the bytes.
//! [`resolve_program`] and [`env_from_allowlist`] prepare a spec.
//!
//! Unix only. It was built for and is tested on Linux; elsewhere processes that leave the group are not found and
//! [`Leftovers::Unknown`] says so.
//!
//! ```
//! use agent_exec::{Capture, CommandSpec, Exit, Stdin, resolve_program, run};
//! use std::{ffi::OsString, path::Path, time::Duration};
//! use tokio_util::sync::CancellationToken;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! let cwd = Path::new("/");
//! let path = OsString::from("/usr/bin:/bin");
//! let finished = run(
//!     CommandSpec {
//!         program: resolve_program("echo".as_ref(), &path, cwd)?,
//!         argv: vec!["echo".into(), "hello".into()],
//!         cwd: cwd.into(),
//!         held_cwd: None,
//!         env: vec![("PATH".into(), path)],
//!         stdin: Stdin::Closed,
//!         stdout: Capture::in_memory(65_536),
//!         stderr: Capture::in_memory(65_536),
//!         timeout: Duration::from_secs(5),
//!         kill_grace: Duration::from_secs(1),
//!     },
//!     CancellationToken::new(),
//!     None,
//! )
//! .await?;
//! assert_eq!(finished.exit, Exit::Code(0));
//! assert_eq!(finished.stdout.kept.joined(), b"hello\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod census;
mod characters;
mod descriptors;
mod environment;
mod error;
mod format;
mod group;
mod keeper;
mod kill_all;
mod launch;
mod marker;
mod notice;
mod orphans;
mod outcome;
mod process_table;
mod program;
mod progress;
mod pump;
mod run;
mod spec;
mod spill;
mod stream;

pub use characters::{incomplete_end, incomplete_start};
pub use descriptors::keep_descriptors_private;
pub use environment::env_from_allowlist;
pub use error::{ExecError, ProgramError};
pub use kill_all::kill_all;
pub use marker::CALL_MARKER;
pub use orphans::adopt_orphans;
pub use outcome::{Exit, Finished, Kept, Leftovers, Output};
pub use program::resolve_program;
pub use progress::{Progress, ProgressSink};
pub use run::run;
pub use spec::{Capture, CommandSpec, Spill, SpillFactory, Stdin};
