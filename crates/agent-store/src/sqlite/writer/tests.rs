use super::*;
use crate::settings::Clock;
use crate::sqlite::database::open_to_write;
use agent_protocol::ErrorCode;
use agent_testkit::scratch;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc as std_mpsc;
use std::time::{Duration, Instant};

/// How long the writer waits for other programs.
const PATIENCE: Duration = Duration::from_millis(200);

struct World {
    writer: Writer,
    site: Arc<Site>,
}

/// A writer on a new database with a table `t`, after `prepare`.
async fn world(name: &str, prepare: &'static str) -> World {
    let site = Arc::new(Site::new(scratch(name).join("sessions.sqlite"), PATIENCE));
    let open = {
        let site = Arc::clone(&site);
        move || {
            let database = open_to_write(&site, &Clock::system())?;
            database.conn.execute_batch("CREATE TABLE t (x)").unwrap();
            database.conn.execute_batch(prepare).unwrap();
            Ok(database)
        }
    };
    World { writer: Writer::start(Arc::clone(&site), open).await.unwrap(), site }
}

impl World {
    /// The rows another connection sees, in order.
    fn rows(&self) -> Vec<i64> {
        rows(&Connection::open(&self.site.path).unwrap())
    }

    /// Keeps the writer busy, so that what is asked for next waits together. Dropping the sender lets it go on.
    async fn held(&self) -> std_mpsc::Sender<()> {
        self.held_by("SELECT 1").await
    }

    async fn held_by(&self, sql: &'static str) -> std_mpsc::Sender<()> {
        let (hold, released) = std_mpsc::channel::<()>();
        let (started, has_started) = oneshot::channel();
        let mut once = Some((started, released));
        self.send(move |conn| {
            if let Some((started, released)) = once.take() {
                conn.execute_batch(sql)?;
                started.send(()).unwrap();
                let _ = released.recv();
            }
            Ok(())
        })
        .await;
        has_started.await.unwrap();
        hold
    }

    /// Asks for work whose result nobody waits for.
    async fn send(&self, work: impl FnMut(&Connection) -> Outcome<()> + Send + 'static) {
        let job = Task { work, result: None, reply: oneshot::channel().0 };
        assert!(self.writer.queue.send(Message::Job(Box::new(job))).await.is_ok());
    }
}

fn rows(conn: &Connection) -> Vec<i64> {
    let mut statement = conn.prepare("SELECT x FROM t ORDER BY rowid").unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

fn insert(conn: &Connection, x: i64) -> Outcome<()> {
    conn.execute("INSERT INTO t VALUES (?1)", [x])?;
    Ok(())
}

/// STO-1: what waits is one transaction; each caller hears of its own piece, and a piece that fails is undone alone.
#[tokio::test]
async fn waiting_work_shares_a_transaction_and_fails_apart() {
    let world = world("batch", "").await;
    let hold = world.held().await;
    let other = Connection::open(&world.site.path).unwrap();
    let one = world.writer.write("one", |conn| insert(conn, 1));
    let two = world.writer.write("two", |conn| {
        insert(conn, 2)?;
        Ok(conn.execute_batch("INSERT INTO no_such_table VALUES (1)")?)
    });
    let three = world.writer.write("three", move |conn| {
        insert(conn, 3)?;
        // Seen by itself, but by nobody else: the first piece is not committed yet.
        Ok((rows(conn), rows(&other)))
    });
    let release = async { drop(hold) };
    let (one, two, three, ()) = tokio::join!(one, two, three, release);
    one.unwrap();
    let error = two.unwrap_err();
    assert!(matches!(error, StoreError::Database { step: "two", .. }), "{error:?}");
    assert_eq!(three.unwrap(), (vec![1, 3], vec![]));
    assert_eq!(world.rows(), [1, 3]);
}

/// A piece that brings the whole transaction down costs the others nothing but a second try.
#[tokio::test]
async fn a_lost_transaction_is_done_again_piece_by_piece() {
    let world = world("lost-batch", "").await;
    let hold = world.held().await;
    let tries = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&tries);
    let good = world.writer.write("good", move |conn| {
        count.fetch_add(1, Ordering::SeqCst);
        insert(conn, 1)
    });
    let bad = world.writer.write("bad", |conn| {
        insert(conn, 2)?;
        conn.execute_batch("ROLLBACK")?;
        Ok(conn.execute_batch("INSERT INTO no_such_table VALUES (1)")?)
    });
    let (good, bad, ()) = tokio::join!(good, bad, async { drop(hold) });
    good.unwrap();
    assert!(bad.is_err());
    assert_eq!(world.rows(), [1]);
    assert_eq!(tries.load(Ordering::SeqCst), 2);
}

/// RUN-21: a full disk fails the commit that does not fit, not its neighbour; what was stored stays readable.
#[tokio::test]
async fn a_full_disk_fails_only_what_does_not_fit() {
    let world = world("full", "PRAGMA max_page_count = 40").await;
    world.writer.write("before", |conn| insert(conn, 1)).await.unwrap();
    let hold = world.held().await;
    let small = world.writer.write("small", |conn| insert(conn, 2));
    let big = world.writer.write("big", |conn| Ok(conn.execute_batch("INSERT INTO t VALUES (zeroblob(1000000))")?));
    let (small, big, ()) = tokio::join!(small, big, async { drop(hold) });
    small.unwrap();
    let error = big.unwrap_err();
    assert!(matches!(error, StoreError::DiskFull { step: "big", .. }), "{error:?}");
    assert_eq!((error.code(), error.payload().retryable), (ErrorCode::StorageError, true));
    assert_eq!(world.rows(), [1, 2]);
}

/// RUN-21: a database that cannot be written any more says so, and can still be read.
#[tokio::test]
async fn a_read_only_database_refuses_writes() {
    let world = world("read-only", "INSERT INTO t VALUES (7); PRAGMA query_only = ON").await;
    let error = world.writer.write("commit to", |conn| insert(conn, 1)).await.unwrap_err();
    assert!(matches!(error, StoreError::ReadOnly { .. }), "{error:?}");
    assert_eq!(error.code(), ErrorCode::StorageError);
    assert_eq!(world.rows(), [7]);
}

/// RUN-21, DB-01: whoever waits in vain for another program hears of it once the patience is over; the queue waits
/// together, not one after the other.
#[tokio::test]
async fn a_foreign_lock_is_waited_for_once() {
    const WAITING: i64 = 20;
    let world = Arc::new(world("locked", "").await);
    // Ends its transaction by itself, so that the lock is free while the writer is still held.
    let hold = world.held_by("ROLLBACK").await;
    let other = Connection::open(&world.site.path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut writes = tokio::task::JoinSet::new();
    for x in 0..WAITING {
        let world = Arc::clone(&world);
        writes.spawn(async move { world.writer.write("commit to", move |conn| insert(conn, x)).await });
    }
    while world.writer.queue.capacity() + WAITING as usize > world.writer.queue.max_capacity() {
        tokio::task::yield_now().await;
    }
    let begun = Instant::now();
    drop(hold);
    while let Some(result) = writes.join_next().await {
        let error = result.unwrap().unwrap_err();
        assert!(matches!(error, StoreError::Locked { .. }), "{error:?}");
        assert_eq!((error.code(), error.payload().retryable), (ErrorCode::StorageError, true));
    }
    assert!(begun.elapsed() < PATIENCE * 10, "{:?}", begun.elapsed());
    drop(other);
    world.writer.write("commit to", |conn| insert(conn, 1)).await.unwrap();
    assert_eq!(world.rows(), [1]);
}

/// API-7: closing finishes what waits, may be repeated, and refuses what comes later.
#[tokio::test]
async fn closing_finishes_what_waits() {
    let world = world("close", "").await;
    let hold = world.held().await;
    let write = world.writer.write("one", |conn| insert(conn, 1));
    let (write, (), (), ()) = tokio::join!(write, world.writer.close(), world.writer.close(), async { drop(hold) });
    write.unwrap();
    world.writer.close().await;
    assert_eq!(world.rows(), [1]);
    assert!(matches!(world.writer.write("two", |conn| insert(conn, 2)).await, Err(StoreError::Closed)));
    assert!(!world.site.path.with_extension("sqlite-wal").exists(), "the last connection tidies up");
}

/// API-7: a dropped store loses nothing it was given.
#[tokio::test]
async fn dropping_the_writer_finishes_what_waits() {
    let world = world("drop", "").await;
    world.send(|conn| insert(conn, 1)).await;
    let World { writer, site } = world;
    let mut ended = writer.ended.clone();
    drop(writer);
    while ended.changed().await.is_ok() {}
    assert_eq!(rows(&Connection::open(&site.path).unwrap()), [1]);
}

/// STO-1: while SQLite waits, the caller's thread does not.
#[tokio::test]
async fn the_callers_thread_never_waits_for_sqlite() {
    let world = world("async", "").await;
    let hold = world.held().await;
    let mut write = std::pin::pin!(world.writer.write("one", |conn| insert(conn, 1)));
    tokio::select! {
        biased;
        _ = &mut write => panic!("the writer is held"),
        () = tokio::task::yield_now() => {}
    }
    drop(hold);
    write.await.unwrap();
}
