use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use crate::{Journal, JournalError, Medium};

/// What is on a disk that fails at one step, or from that step on.
#[derive(Debug, Default)]
struct Disk {
    bytes: Vec<u8>,
    steps: u32,
    fails: Vec<u32>,
    /// How many bytes of a failing write get through.
    partial: usize,
}

#[derive(Debug, Clone, Default)]
struct Failing(Arc<Mutex<Disk>>);

impl Failing {
    fn step(&self) -> io::Result<()> {
        let mut disk = self.0.lock().unwrap();
        disk.steps += 1;
        if disk.fails.contains(&disk.steps) { Err(io::Error::other("no space left")) } else { Ok(()) }
    }
}

impl Medium for Failing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let result = self.step();
        let mut disk = self.0.lock().unwrap();
        let written = if result.is_ok() { bytes.len() } else { disk.partial.min(bytes.len()) };
        disk.bytes.extend_from_slice(&bytes[..written]);
        result
    }

    fn sync(&mut self) -> io::Result<()> {
        self.step()
    }

    fn cut(&mut self, len: u64) -> io::Result<()> {
        self.step()?;
        self.0.lock().unwrap().bytes.truncate(usize::try_from(len).unwrap());
        Ok(())
    }

    fn is_in_place(&self, _: u64) -> io::Result<bool> {
        Ok(true)
    }
}

/// WAL-2, WAL-07: whichever write and sync fails, what is acknowledged is there, what is not is cut away, and where that cannot be
/// known nothing is written any more.
#[test]
fn every_step_fails() {
    let group = b"{\"n\":12345}\n";
    // Write and sync of three groups; a failure adds a cut and a sync.
    for first in 1..=6 {
        for also in [vec![], vec![first + 1], vec![first + 2], vec![first + 1, first + 2]] {
            for partial in [0, 5, group.len()] {
                let mut fails = also.clone();
                fails.push(first);
                let disk = Failing::default();
                {
                    let mut state = disk.0.lock().unwrap();
                    (state.fails, state.partial) = (fails.clone(), partial);
                }
                let mut journal = Journal::on(Box::new(disk.clone()), Path::new("log"), 0);
                let mut acknowledged = 0;
                for _ in 0..6 {
                    let broken = journal.is_broken();
                    match journal.append(group) {
                        Ok(()) => acknowledged += 1,
                        Err(JournalError::Broken { .. }) => assert!(journal.is_broken()),
                        Err(error) => assert!(!broken && error.to_string().contains("no space left"), "{error}"),
                    }
                    assert_eq!(journal.len(), acknowledged * group.len() as u64);
                    let bytes = disk.0.lock().unwrap().bytes.clone();
                    assert!(bytes.starts_with(&group.repeat(usize::try_from(acknowledged).unwrap())));
                    if !journal.is_broken() {
                        assert_eq!(bytes.len() as u64, journal.len(), "{fails:?} {partial}");
                    }
                }
            }
        }
    }
}

/// PERF-6, WAL-2: a group of lines, however many they are, is one write and one sync.
#[test]
fn a_group_is_written_and_synced_once() {
    let disk = Failing::default();
    let mut journal = Journal::on(Box::new(disk.clone()), Path::new("log"), 0);
    for (groups, lines) in (1..).zip([1, 3, 1_000]) {
        journal.append(b"{\"n\":1}\n".repeat(lines).as_slice()).unwrap();
        assert_eq!(disk.0.lock().unwrap().steps, 2 * groups);
    }
}
