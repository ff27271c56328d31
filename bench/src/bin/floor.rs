//! What a run cannot avoid, and nothing else: the process, a SQLite database with the settings of the session store, one
//! small transaction before each request (nothing happens outside before it is written down), the request, and its answer
//! read to the end. One thread, blocking, no parsing.
//!
//! `floor DATABASE ADDRESS PATH BODIES` posts each file of the folder BODIES, in order of names; without arguments it
//! ends at once, which is what starting a process costs.

use std::error::Error;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;

use rusqlite::{Connection, OpenFlags};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [] => Ok(()),
        [database, address, path, bodies] => run(database, address, path, bodies),
        _ => Err("floor takes DATABASE ADDRESS PATH BODIES, or nothing".into()),
    }
}

fn run(database: &str, address: &str, path: &str, bodies: &str) -> Result<(), Box<dyn Error>> {
    let database = open(database)?;
    let mut server = TcpStream::connect(address)?;
    server.set_nodelay(true)?;
    for body in sorted(bodies)? {
        let body = fs::read(body)?;
        database.execute("INSERT INTO requests (bytes) VALUES (?1)", [i64::try_from(body.len())?])?;
        exchange(&mut server, address, path, &body)?;
    }
    Ok(())
}

fn open(path: &str) -> rusqlite::Result<Connection> {
    let access = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let database = Connection::open_with_flags(path, access)?;
    database.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;
         CREATE TABLE IF NOT EXISTS requests (id INTEGER PRIMARY KEY, bytes INTEGER NOT NULL) STRICT;",
    )?;
    Ok(database)
}

fn sorted(folder: &str) -> std::io::Result<Vec<PathBuf>> {
    let mut files = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    files.sort();
    Ok(files)
}

/// Sends one request and reads its answer, which comes in chunks, to the last of them.
fn exchange(server: &mut TcpStream, host: &str, path: &str, body: &[u8]) -> Result<(), Box<dyn Error>> {
    const LAST_CHUNK: &[u8] = b"\r\n0\r\n\r\n";
    let mut request = format!(
        "POST {path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    request.extend_from_slice(body);
    server.write_all(&request)?;
    let (mut answer, mut piece) = (Vec::new(), [0; 16 * 1024]);
    while !answer.ends_with(LAST_CHUNK) {
        match server.read(&mut piece)? {
            0 => return Err("the server closed the connection".into()),
            n => answer.extend_from_slice(&piece[..n]),
        }
    }
    if !answer.starts_with(b"HTTP/1.1 200") {
        return Err(String::from_utf8_lossy(&answer).into());
    }
    Ok(())
}
