//! The one thread that writes (STO-1).
//!
//! Work that waits is done together in one transaction, each piece behind a savepoint, and each caller hears of its own
//! piece only after the transaction is durable. A piece that fails is undone alone. If the transaction as a whole fails,
//! each piece gets a transaction of its own, so that no session pays for another's commit.

use std::sync::Arc;
use std::thread;

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot, watch};

use super::database::Opened;
use super::fault::{Fault, Outcome, Site};
use super::sql;
use crate::error::StoreError;
use crate::limit::Limit;

/// Pieces of work that may wait before callers do.
const QUEUE: usize = 128;
/// Pieces of work in one transaction.
const BATCH: usize = 64;

/// Hands work to the thread.
#[derive(Debug)]
pub(super) struct Writer {
    site: Arc<Site>,
    queue: mpsc::Sender<Message>,
    /// Its sender lives in the thread.
    ended: watch::Receiver<()>,
    /// Why nothing can be written; there is no thread then.
    refused: Option<StoreError>,
}

enum Message {
    Job(Box<dyn Job>),
    Close,
}

impl Writer {
    /// Starts the thread. It opens its connection itself, and ends when the writer is closed or dropped.
    pub(super) async fn start(
        site: Arc<Site>,
        open: impl FnOnce() -> Result<Opened, StoreError> + Send + 'static,
    ) -> Result<Self, StoreError> {
        let (queue, jobs) = mpsc::channel(QUEUE);
        let (opened, ready) = oneshot::channel();
        let (alive, ended) = watch::channel(());
        let in_thread = Arc::clone(&site);
        let main = move || {
            let _alive = alive;
            match open() {
                Ok(database) => {
                    // Nobody waits any more if the opening was cancelled; the queue is gone then, too.
                    let _ = opened.send(Ok(()));
                    serve(&mut Served { database, site: in_thread }, jobs);
                }
                Err(error) => {
                    let _ = opened.send(Err(error));
                }
            }
        };
        thread::Builder::new().name("session-store".to_owned()).spawn(main).map_err(|error| {
            let (step, path) = ("start the writer of", site.path.clone());
            match Limit::behind(&error) {
                Some(limit) => StoreError::LimitReached { step, path, limit },
                None => StoreError::Database { step, path, source: Arc::new(error) },
            }
        })?;
        ready.await.map_err(|_| StoreError::Closed)??;
        Ok(Self { site, queue, ended, refused: None })
    }

    /// For a database that can only be read.
    pub(super) fn refusing(site: Arc<Site>, error: StoreError) -> Self {
        let (queue, ended) = (mpsc::channel(1).0, watch::channel(()).1);
        Self { site, queue, ended, refused: Some(error) }
    }

    /// Does `work` in a write transaction and returns what it gave once that is durable.
    ///
    /// `work` may run more than once; the traces of an earlier try are gone by then. It runs even if nobody waits any more.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        step: &'static str,
        work: impl FnMut(&Connection) -> Outcome<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        if let Some(error) = &self.refused {
            return Err(error.clone());
        }
        let (reply, answer) = oneshot::channel();
        let job = Box::new(Task { work, result: None, reply });
        self.queue.send(Message::Job(job)).await.map_err(|_| StoreError::Closed)?;
        let result = answer.await.map_err(|_| StoreError::Closed)?;
        result.map_err(|fault| fault.at(&self.site, step))
    }

    /// Finishes the work that waits and ends the thread.
    pub(super) async fn close(&self) {
        // Fails if it has been closed already; what remains is to wait for the end.
        let _ = self.queue.send(Message::Close).await;
        let mut ended = self.ended.clone();
        while ended.changed().await.is_ok() {}
    }
}

/// What the thread works with.
struct Served {
    database: Opened,
    site: Arc<Site>,
}

/// Works until the writer is closed or dropped.
fn serve(served: &mut Served, mut queue: mpsc::Receiver<Message>) {
    let mut messages = Vec::with_capacity(BATCH);
    while queue.blocking_recv_many(&mut messages, BATCH) > 0 {
        let mut jobs = Vec::with_capacity(messages.len());
        for message in messages.drain(..) {
            match message {
                Message::Job(job) => jobs.push(job),
                Message::Close => queue.close(), // What waits is still handed out.
            }
        }
        work_off(served, jobs);
    }
}

fn work_off(served: &mut Served, mut jobs: Vec<Box<dyn Job>>) {
    let done = match jobs.as_mut_slice() {
        [] => return,
        [job] => transaction(served, |conn| {
            job.run(conn)?;
            Ok(())
        }),
        several => {
            transaction(served, |conn| several.iter_mut().try_for_each(|job| behind_savepoint(conn, job.as_mut())))
        }
    };
    match done {
        Ok(()) => jobs.into_iter().for_each(|job| job.report(None)),
        // Waiting for the lock again, once for each, would not help anybody.
        Err(fault) if fault.is_busy() || jobs.len() == 1 => {
            jobs.into_iter().for_each(|job| job.report(Some(fault.clone())))
        }
        Err(_) => jobs.into_iter().for_each(|job| work_off(served, vec![job])),
    }
}

/// Runs `work` between BEGIN and COMMIT. If either or the work fails, nothing of it remains.
fn transaction(served: &mut Served, work: impl FnOnce(&Connection) -> Outcome<()>) -> Outcome<()> {
    let Served { database: Opened { conn, ground }, site } = served;
    step(conn, sql::BEGIN)?;
    let done = ground.hold(site).and_then(|()| work(conn)).and_then(|()| step(conn, sql::COMMIT));
    if done.is_err() && !conn.is_autocommit() {
        // If even this fails, the next BEGIN says so.
        let _ = step(conn, sql::ROLLBACK);
    }
    done
}

/// Undoes the work alone if it fails; the failure waits in the job. Fails itself if the whole transaction is lost.
fn behind_savepoint(conn: &Connection, job: &mut dyn Job) -> Outcome<()> {
    step(conn, sql::SAVE)?;
    if let Err(fault) = job.run(conn) {
        // A full disk, for one, ends the transaction and everything in it.
        if conn.is_autocommit() {
            return Err(fault);
        }
        step(conn, sql::UNDO)?;
    }
    step(conn, sql::KEEP)
}

fn step(conn: &Connection, sql: &str) -> Outcome<()> {
    conn.prepare_cached(sql)?.execute([])?;
    Ok(())
}

/// A piece of work whose types only its caller knows.
trait Job: Send {
    /// Works inside the open transaction and keeps the result, or the failure that is returned.
    fn run(&mut self, conn: &Connection) -> Outcome<()>;
    /// Tells the caller: of the failure that undid the transaction, else of the kept result, which is durable now.
    fn report(self: Box<Self>, undone: Option<Fault>);
}

struct Task<T, F> {
    work: F,
    result: Option<Outcome<T>>,
    reply: oneshot::Sender<Outcome<T>>,
}

impl<T: Send, F: FnMut(&Connection) -> Outcome<T> + Send> Job for Task<T, F> {
    fn run(&mut self, conn: &Connection) -> Outcome<()> {
        // What an undone try holds, such as a lock, is given back before the next.
        self.result = None;
        let result = (self.work)(conn);
        let told = result.as_ref().map(|_| ()).map_err(Fault::clone);
        self.result = Some(result);
        told
    }

    fn report(self: Box<Self>, undone: Option<Fault>) {
        let Self { result, reply, .. } = *self;
        let answer = match undone {
            Some(fault) => Err(fault),
            None => result.unwrap_or(Err(StoreError::Closed.into())),
        };
        // Fails if the caller has gone; the work is done all the same.
        let _ = reply.send(answer);
    }
}

#[cfg(test)]
mod tests;
