//! The one place of the library that looks at the process around it: environment, current folder, the user's home.
//!
//! It looks once, when a runtime is built; everything below is handed what it needs. Only the date is asked for again and again.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use jiff::ZonedDateTime;

use crate::error::BuildError;

/// Name of the variable that moves home.
const HOME_VARIABLE: &str = "SOONG_AGENT_HOME";

/// What the process says of itself.
#[derive(Debug, Clone)]
pub(crate) struct Environment {
    pub(crate) current_dir: Option<PathBuf>,
    pub(crate) user_home: Option<PathBuf>,
    pub(crate) path: OsString,
    pub(crate) tmp: PathBuf,
    pub(crate) https_proxy: Option<String>,
    pub(crate) no_proxy: Option<String>,
}

impl Environment {
    pub(crate) fn look() -> Self {
        let either = |upper: &str, lower: &str| text(upper).or_else(|| text(lower));
        Self {
            current_dir: std::env::current_dir().ok(),
            user_home: path("HOME"),
            path: std::env::var_os("PATH").unwrap_or_default(),
            tmp: std::env::temp_dir(),
            https_proxy: either("HTTPS_PROXY", "https_proxy"),
            no_proxy: either("NO_PROXY", "no_proxy"),
        }
    }

    /// A variable that configuration names: a key, an allowed variable of commands.
    pub(crate) fn variable(name: &str) -> Option<OsString> {
        std::env::var_os(name)
    }

    /// Where home is: given, or `SOONG_AGENT_HOME`, or `~/.soong-agent` (API-10).
    pub(crate) fn home(&self, given: Option<&Path>) -> Result<PathBuf, BuildError> {
        let named = given.map(Path::to_owned).or_else(|| path(HOME_VARIABLE));
        let home = match (named, &self.user_home) {
            (Some(named), _) => named,
            (None, Some(user_home)) => user_home.join(".soong-agent"),
            (None, None) => return Err(BuildError::NoHome),
        };
        let home = self.absolute(&home)?;
        // A home that is a link is what it leads to, or boundary checks would compare two spellings of one folder.
        Ok(resolved(&home))
    }

    /// The project folder (API-11).
    pub(crate) fn project(&self, given: Option<&Path>) -> Result<PathBuf, BuildError> {
        let named = match (given, &self.current_dir) {
            (Some(given), _) => given.to_owned(),
            (None, Some(current)) => current.clone(),
            (None, None) => return Err(BuildError::NoCurrentDir),
        };
        let unusable = |source| BuildError::Project { path: named.clone(), source };
        let real = self.absolute(&named)?.canonicalize().map_err(unusable)?;
        let folder = match real.parent() {
            Some(parent) if real.is_file() => parent.to_owned(),
            _ => real,
        };
        std::fs::read_dir(&folder).map_err(unusable)?;
        Ok(folder)
    }

    /// The name of a current folder that is gone, by which nothing is found.
    pub(crate) fn lost_current_dir(&self) -> Option<PathBuf> {
        if self.current_dir.is_some() {
            return None;
        }
        // As the system names it: the path it had, and that it was deleted.
        let named = std::fs::read_link("/proc/self/cwd").ok().filter(|named| named.is_absolute());
        Some(named.unwrap_or_else(|| PathBuf::from("/ (deleted)")))
    }

    pub(crate) fn absolute(&self, path: &Path) -> Result<PathBuf, BuildError> {
        if path.is_absolute() {
            return Ok(path.to_owned());
        }
        Ok(self.current_dir.as_ref().ok_or(BuildError::NoCurrentDir)?.join(path))
    }
}

/// The path with every link of its existing part resolved and no `.` or `..` left.
pub(crate) fn resolved(path: &Path) -> PathBuf {
    for existing in path.ancestors() {
        if let Ok(real) = existing.canonicalize() {
            let rest = path.strip_prefix(existing).unwrap_or(Path::new(""));
            return lexically_normal(&real.join(rest));
        }
    }
    lexically_normal(path)
}

fn lexically_normal(path: &Path) -> PathBuf {
    use std::path::Component;
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                normal.pop();
            }
            Component::CurDir => {}
            other => normal.push(other),
        }
    }
    normal
}

fn path(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

fn text(variable: &str) -> Option<String> {
    std::env::var(variable).ok().filter(|value| !value.is_empty())
}

/// The user's date: in the time zone of `TZ` or else of the machine, UTC where neither is known.
pub(crate) fn today() -> String {
    date(&ZonedDateTime::now())
}

fn date(now: &ZonedDateTime) -> String {
    now.strftime("%Y-%m-%d (%A)").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(current: &Path) -> Environment {
        Environment { current_dir: Some(current.to_owned()), user_home: None, ..Environment::look() }
    }

    /// API-11: a file means its parent, a missing path is an error, links are resolved once.
    #[test]
    fn project_folders() {
        let root = agent_testkit::scratch("project_folders").canonicalize().unwrap();
        std::fs::create_dir(root.join("real")).unwrap();
        std::fs::write(root.join("real/file.txt"), "x").unwrap();
        std::os::unix::fs::symlink(root.join("real"), root.join("link")).unwrap();
        let environment = environment(&root);
        let project = |path: &str| environment.project(Some(Path::new(path)));
        for path in ["real", "link", "real/file.txt", "link/../real/", "real/."] {
            assert_eq!(project(path).unwrap(), root.join("real"), "{path}");
        }
        assert!(environment.project(Some(Path::new("/dev/null"))).is_err(), "a device is in no project");
        let error = project("missing").unwrap_err().to_string();
        assert!(error.contains("missing"), "{error}");
        assert_eq!(environment.project(None).unwrap(), root);
    }

    /// API-10: home is what was given, else what the user's home says.
    #[test]
    fn home_folders() {
        let root = agent_testkit::scratch("home_folders").canonicalize().unwrap();
        let mut environment = environment(&root);
        assert_eq!(environment.home(Some(Path::new("h/../mine"))).unwrap(), root.join("mine"));
        environment.user_home = Some(root.clone());
        // The variable of the process that runs the tests wins, if it is set.
        let named = path(HOME_VARIABLE).unwrap_or_else(|| root.join(".soong-agent"));
        let expected = environment.home(Some(&named)).unwrap();
        assert_eq!(environment.home(None).unwrap(), expected);
    }

    /// FND-54: the date is the one of the user's time zone, on both sides of midnight, of the date line and of summer time.
    #[test]
    fn dates_are_local() {
        for (instant, zone, expected) in [
            ("2026-12-01T22:59:59Z", "CET-1", "2026-12-01 (Tuesday)"),
            ("2026-12-01T23:00:00Z", "CET-1", "2026-12-02 (Wednesday)"),
            ("2026-12-01T23:00:00Z", "UTC0", "2026-12-01 (Tuesday)"),
            ("2026-07-01T22:30:00Z", "CET-1CEST,M3.5.0,M10.5.0/3", "2026-07-02 (Thursday)"),
            ("2026-12-01T22:30:00Z", "CET-1CEST,M3.5.0,M10.5.0/3", "2026-12-01 (Tuesday)"),
            ("2026-12-31T10:00:00Z", "<+14>-14", "2027-01-01 (Friday)"),
            ("2027-01-01T11:59:59Z", "<-12>12", "2026-12-31 (Thursday)"),
        ] {
            let instant: jiff::Timestamp = instant.parse().unwrap();
            let zone = jiff::tz::TimeZone::posix(zone).unwrap();
            assert_eq!(date(&instant.to_zoned_datetime(zone)), expected);
        }
    }
}
