//! Connections that only read. They are opened when they are first needed and never wait for the writer.

use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use tokio::sync::Semaphore;
use tokio::task;

use super::database;
use super::fault::{Outcome, Site};
use super::wal_index::WalIndex;
use crate::error::StoreError;

/// Reads at the same time; further ones wait.
const CONNECTIONS: u32 = 4;

/// Hands reads to the runtime's threads for blocking work.
#[derive(Debug)]
pub(super) struct Readers {
    site: Arc<Site>,
    permits: Arc<Semaphore>,
    idle: Arc<Mutex<Vec<Connection>>>,
    /// Of a database that is only read: as long as it may be.
    _index: Option<WalIndex>,
}

impl Readers {
    pub(super) fn new(site: Arc<Site>) -> Self {
        Self { site, permits: Arc::new(Semaphore::new(CONNECTIONS as usize)), idle: Arc::default(), _index: None }
    }

    /// The same with a connection that is open already.
    pub(super) fn with(site: Arc<Site>, conn: Connection, index: Option<WalIndex>) -> Self {
        Self { idle: Arc::new(Mutex::new(vec![conn])), _index: index, ..Self::new(site) }
    }

    /// Does `work` on a connection of its own; everything it reads is one moment of the database.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        step: &'static str,
        work: impl FnOnce(&Connection) -> Outcome<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let permit = Arc::clone(&self.permits).acquire_owned().await.map_err(|_| StoreError::Closed)?;
        let (site, idle) = (Arc::clone(&self.site), Arc::clone(&self.idle));
        let read = move || {
            // Given back at the end of the work, not of the future that waits for it.
            let _permit = permit;
            let outcome = take(&idle).map_or_else(|| database::open_to_read(&site), Ok).and_then(|mut conn| {
                let result = snapshot(&mut conn, work);
                give_back(&idle, conn);
                result
            });
            outcome.map_err(|fault| fault.at(&site, step))
        };
        // The join fails only if the runtime shuts down before the work has begun, or if the work panicked.
        task::spawn_blocking(read).await.map_err(|_| StoreError::Closed)?
    }

    /// Waits for the reads under way and closes the connections.
    pub(super) async fn close(&self) {
        // Fails if they have been closed already.
        if let Ok(all) = self.permits.acquire_many(CONNECTIONS).await {
            self.permits.close();
            drop(all);
        }
        let connections = std::mem::take(&mut *lock(&self.idle));
        if !connections.is_empty() {
            let _ = task::spawn_blocking(move || drop(connections)).await;
        }
    }
}

/// A read transaction: several statements see the same commit, however many come in between.
fn snapshot<T>(conn: &mut Connection, work: impl FnOnce(&Connection) -> Outcome<T>) -> Outcome<T> {
    let transaction = conn.transaction()?;
    let result = work(&transaction)?;
    transaction.commit()?;
    Ok(result)
}

fn take(idle: &Mutex<Vec<Connection>>) -> Option<Connection> {
    lock(idle).pop()
}

fn give_back(idle: &Mutex<Vec<Connection>>, conn: Connection) {
    lock(idle).push(conn);
}

fn lock(idle: &Mutex<Vec<Connection>>) -> std::sync::MutexGuard<'_, Vec<Connection>> {
    // A list of connections is never half changed.
    idle.lock().unwrap_or_else(PoisonError::into_inner)
}
