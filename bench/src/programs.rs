//! The programs that are measured.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::BenchError;

/// Where they are.
#[derive(Debug)]
pub(crate) struct Programs {
    /// The command, as users have it.
    pub(crate) agent: PathBuf,
    /// The unavoidable part alone.
    pub(crate) floor: PathBuf,
    /// Whether programs are built before they are used.
    build: bool,
}

impl Programs {
    /// Builds them, unless told not to, and finds them beside this program.
    ///
    /// One call of cargo for each: built together with the bench, the command would get features of dependencies that only
    /// the bench asks for, and would not be the program that users install.
    pub(crate) fn find(build: bool) -> Result<Self, BenchError> {
        if build {
            for arguments in [["--package=soong-agent", "--bin=soong-agent"], ["--package=soong-bench", "--bin=floor"]]
            {
                cargo_build(&arguments)?;
            }
        }
        Ok(Self { agent: beside("soong-agent")?, floor: beside("floor")?, build })
    }

    /// A program that only one suite needs.
    pub(crate) fn also(&self, package: &str, name: &str) -> Result<PathBuf, BenchError> {
        if self.build {
            cargo_build(&[&format!("--package={package}"), &format!("--bin={name}")])?;
        }
        beside(name)
    }
}

fn beside(name: &str) -> Result<PathBuf, BenchError> {
    let this = std::env::current_exe().map_err(BenchError::file("find", "this program"))?;
    let path = this.with_file_name(name);
    if path.is_file() { Ok(path) } else { Err(BenchError::Missing { path }) }
}

fn cargo_build(arguments: &[&str]) -> Result<(), BenchError> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let status = Command::new("cargo")
        .args(["build", "--locked", "--release", "--manifest-path"])
        .arg(manifest)
        .args(arguments)
        .status()
        .map_err(BenchError::file("start", "cargo"))?;
    if status.success() { Ok(()) } else { Err(BenchError::Build) }
}
