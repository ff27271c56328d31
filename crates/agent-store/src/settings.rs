//! What a store needs to know from its user.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use agent_protocol::Timestamp;

/// Settings of a [`crate::SqliteStore`].
#[derive(Debug, Clone)]
pub struct StoreSettings {
    /// The database file; an absolute path. Made with mode 0600, its folder with 0700, where missing (CFG-12).
    pub database: PathBuf,
    /// The folder that holds a folder per session, for its lock and its artifacts; an absolute path. Made when needed.
    pub sessions_dir: PathBuf,
    /// How long an operation waits for other programs that lock the database.
    pub busy_timeout: Duration,
    /// Stamps what is stored.
    pub clock: Clock,
}

/// Tells the time that is stored with rows, in milliseconds since 1970-01-01T00:00:00Z. It orders nothing (EVT-4).
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> u64 + Send + Sync>);

/// 9999-12-31T23:59:59.999Z, the last moment that has the stored form.
const LAST_MILLIS: u64 = 253_402_300_799_999;

impl Clock {
    /// The system's clock. A clock set before 1970 counts as 1970.
    #[must_use]
    pub fn system() -> Self {
        Self::new(|| {
            let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            u64::try_from(since_1970.as_millis()).unwrap_or(u64::MAX)
        })
    }

    /// A clock of the caller's. Moments after the year 9999 count as its end.
    pub fn new(unix_millis: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(unix_millis))
    }

    /// Milliseconds since 1970-01-01T00:00:00Z.
    #[must_use]
    pub fn unix_millis(&self) -> u64 {
        (self.0)().min(LAST_MILLIS)
    }

    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_unix_millis(self.unix_millis())
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}
