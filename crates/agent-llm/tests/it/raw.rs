//! A server that sends the bytes it is told to, and lets go of the connection as it is told to.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// What to do with one request.
pub(crate) enum Answer {
    /// Send, and keep the connection for the next request.
    Keep(Vec<u8>),
    /// Send, and close properly.
    Close(Vec<u8>),
    /// Send, and reset the connection.
    Reset(Vec<u8>),
    /// Send, and hold the connection until the client lets go; then tell.
    Hold(Vec<u8>, Arc<Notify>),
    /// Send what is made of the request's text.
    Echo(fn(&str) -> Vec<u8>),
}

#[derive(Default)]
struct Seen {
    requests: Vec<String>,
    connections: usize,
}

/// A server on a port of its own. Answers requests in order, whatever connection they come over.
pub(crate) struct RawServer {
    address: std::net::SocketAddr,
    seen: Arc<Mutex<Seen>>,
}

impl RawServer {
    pub(crate) async fn start(answers: impl IntoIterator<Item = Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Seen::default()));
        let answers = Arc::new(Mutex::new(answers.into_iter().collect::<VecDeque<_>>()));
        let notes = seen.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                notes.lock().unwrap().connections += 1;
                tokio::spawn(serve(socket, answers.clone(), notes.clone()));
            }
        });
        Self { address, seen }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Heads and bodies of all requests so far.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.seen.lock().unwrap().requests.clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.seen.lock().unwrap().connections
    }
}

async fn serve(mut socket: TcpStream, answers: Arc<Mutex<VecDeque<Answer>>>, seen: Arc<Mutex<Seen>>) {
    while let Some(request) = read_request(&mut socket).await {
        seen.lock().unwrap().requests.push(request.clone());
        let Some(answer) = answers.lock().unwrap().pop_front() else { return };
        let (Answer::Keep(bytes) | Answer::Close(bytes) | Answer::Reset(bytes) | Answer::Hold(bytes, _)) = &answer
        else {
            let Answer::Echo(make) = answer else { return };
            let _ = socket.write_all(&make(&request)).await;
            continue;
        };
        let _ = socket.write_all(bytes).await;
        match answer {
            Answer::Keep(_) | Answer::Echo(_) => {}
            Answer::Close(_) => return,
            Answer::Reset(_) => {
                let _ = socket.set_zero_linger();
                return;
            }
            Answer::Hold(_, gone) => {
                // The client sends nothing more: what can be read is the end of the connection.
                let _ = socket.read(&mut [0; 16]).await;
                gone.notify_one();
                return;
            }
        }
    }
}

async fn read_request(socket: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).to_lowercase();
        if let Some(head) = text.find("\r\n\r\n") {
            let length = text[..head].lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            if bytes.len() >= head + 4 + length.unwrap_or(0) {
                return Some(String::from_utf8_lossy(&bytes).into_owned());
            }
        }
        match socket.read(&mut buffer).await {
            Ok(0) | Err(_) => return None,
            Ok(n) => bytes.extend_from_slice(&buffer[..n]),
        }
    }
}

/// An answer whose end is told by its length.
pub(crate) fn whole(status: u16, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status} X\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

/// The beginning of a chunked answer: a head and one chunk.
pub(crate) fn begun(body: &str) -> Vec<u8> {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    format!("{head}{:x}\r\n{body}\r\n", body.len()).into_bytes()
}

/// A chunked answer.
pub(crate) fn chunked(body: &str) -> Vec<u8> {
    [begun(body), b"0\r\n\r\n".to_vec()].concat()
}

pub(crate) const OLLAMA_HI: &str =
    "{\"model\":\"gemma4\",\"message\":{\"role\":\"assistant\",\"content\":\"Hi\"},\"done\":false}\n";
pub(crate) const OLLAMA_DONE: &str =
    "{\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\"}\n";

pub(crate) fn ollama_answer() -> String {
    format!("{OLLAMA_HI}{OLLAMA_DONE}")
}
