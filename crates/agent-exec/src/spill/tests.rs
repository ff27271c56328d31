use super::{QUEUE, Spiller};
use crate::{Spill, keeper::Keeper};
use std::{
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    time::Duration,
};
use tokio::time::timeout;

/// What a spill was given, as the test sees it from outside.
#[derive(Clone, Default)]
struct Seen {
    bytes: Arc<Mutex<Vec<u8>>>,
    finished: Arc<AtomicBool>,
    dropped: Arc<AtomicBool>,
}

/// A file in memory that fails once it holds more than `full_at` bytes, and waits for `gate` before each write.
struct Disk {
    seen: Seen,
    full_at: usize,
    gate: Option<mpsc::Receiver<()>>,
}

impl Spill for Disk {
    fn write(&mut self, chunk: &[u8]) -> io::Result<()> {
        if let Some(gate) = &self.gate {
            gate.recv().expect("the test lets go");
        }
        let mut bytes = self.seen.bytes.lock().unwrap();
        if bytes.len() + chunk.len() > self.full_at {
            return Err(io::ErrorKind::StorageFull.into());
        }
        bytes.extend_from_slice(chunk);
        Ok(())
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        self.seen.finished.store(true, Ordering::SeqCst);
        Ok(())
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        self.seen.dropped.store(true, Ordering::SeqCst);
    }
}

fn spiller(seen: &Seen, max_bytes: u64, full_at: usize, gate: Option<mpsc::Receiver<()>>) -> Spiller {
    let seen = seen.clone();
    Spiller::new(Some(Box::new(move || Ok(Box::new(Disk { seen, full_at, gate })))), max_bytes)
}

async fn push(spiller: &mut Spiller, keeper: &mut Keeper, chunk: &[u8]) {
    spiller.ready().await;
    spiller.pass(chunk, keeper);
    keeper.push(chunk);
}

async fn check(keep: usize, max_bytes: u64, chunks: &[&[u8]], expected: &[u8]) {
    let (seen, mut keeper) = (Seen::default(), Keeper::new(keep));
    let mut spiller = spiller(&seen, max_bytes, usize::MAX, None);
    for chunk in chunks {
        push(&mut spiller, &mut keeper, chunk).await;
    }
    let (written, error) = spiller.finish().await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(written, expected.len() as u64);
    assert_eq!(*seen.bytes.lock().unwrap(), expected);
    assert_eq!(seen.finished.load(Ordering::SeqCst), !expected.is_empty(), "finished if and only if opened");
}

/// ART-2: the whole output is stored, from its first byte on, once it is too big, and at most up to the limit.
#[tokio::test]
async fn the_whole_is_spilled_once_it_outgrows_memory() {
    check(4, 100, &[b"ab", b"cd"], b"").await;
    check(4, 100, &[b"ab", b"cd", b"e", b"", b"fgh"], b"abcdefgh").await;
    check(4, 100, &[b"abcdefgh"], b"abcdefgh").await;
    check(0, 100, &[b"a"], b"a").await;
    check(4, 6, &[b"ab", b"cdefgh", b"ij"], b"abcdef").await;
    check(4, 3, &[b"ab", b"cdefgh", b"ij"], b"abc").await;
    check(4, 0, &[b"abcdefgh"], b"").await;
}

#[tokio::test]
async fn many_chunks_arrive_in_order() {
    let chunks: Vec<Vec<u8>> = (0..200u8).map(|n| vec![n; 7]).collect();
    let chunks: Vec<&[u8]> = chunks.iter().map(Vec::as_slice).collect();
    check(10, 10_000, &chunks, &chunks.concat()).await;
}

#[tokio::test]
async fn a_full_disk_ends_the_spill_and_nothing_else() {
    let (seen, mut keeper) = (Seen::default(), Keeper::new(4));
    let mut spiller = spiller(&seen, 1000, 12, None);
    for _ in 0..100 {
        push(&mut spiller, &mut keeper, b"abcdef").await;
    }
    let (written, error) = spiller.finish().await;
    assert_eq!((written, error.unwrap().kind()), (12, io::ErrorKind::StorageFull));
    assert!(!seen.finished.load(Ordering::SeqCst));
    assert_eq!(keeper.total(), 600);
}

#[tokio::test]
async fn a_spill_that_cannot_be_opened_is_reported() {
    let mut keeper = Keeper::new(0);
    let mut spiller = Spiller::new(Some(Box::new(|| Err(io::ErrorKind::PermissionDenied.into()))), 10);
    push(&mut spiller, &mut keeper, b"abc").await;
    let (written, error) = spiller.finish().await;
    assert_eq!((written, error.unwrap().kind()), (0, io::ErrorKind::PermissionDenied));
}

/// The queue is bounded: when the disk does not follow, the reader waits instead of the memory growing.
#[tokio::test]
async fn a_slow_disk_holds_the_reader() {
    let (seen, mut keeper) = (Seen::default(), Keeper::new(0));
    let (gate, gated) = mpsc::channel();
    let mut spiller = spiller(&seen, 1000, usize::MAX, Some(gated));
    let mut taken = 0;
    // There is room at once or not before the gate opens.
    while timeout(Duration::ZERO, spiller.ready()).await.is_ok() {
        push(&mut spiller, &mut keeper, b"x").await;
        taken += 1;
    }
    // The queue, one chunk at the disk; what was kept (nothing) is sent as no message.
    assert!((QUEUE..=QUEUE + 1).contains(&taken), "{taken} chunks went ahead of the disk");
    for _ in 0..taken {
        gate.send(()).unwrap();
    }
    let (written, error) = spiller.finish().await;
    assert_eq!((written, error.is_none()), (taken as u64, true));
    assert_eq!(seen.bytes.lock().unwrap().len(), taken);
}

#[tokio::test]
async fn a_dropped_run_leaves_the_spill_unfinished() {
    let (seen, mut keeper) = (Seen::default(), Keeper::new(0));
    let mut spiller = spiller(&seen, 1000, usize::MAX, None);
    push(&mut spiller, &mut keeper, b"abc").await;
    drop(spiller);
    let dropped = async {
        while !seen.dropped.load(Ordering::SeqCst) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(Duration::from_secs(20), dropped).await.expect("the writer lets go of the spill");
    assert!(!seen.finished.load(Ordering::SeqCst));
}
