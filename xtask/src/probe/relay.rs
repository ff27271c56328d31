//! A relay between adapter and server that sees who closes a connection. A client cannot be asked whether it let go; what
//! lies before the server can.

use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;
use url::Url;

/// Most bytes carried at once.
const PIECE: usize = 16 * 1024;
const RETRY_ACCEPT: Duration = Duration::from_millis(10);

/// Carries connections to a server until it is dropped.
pub(crate) struct Relay {
    base_url: String,
    closed_by_client: watch::Receiver<usize>,
    _task: AbortOnDropHandle<()>,
}

impl Relay {
    /// Listens on a free loopback port before the server at an address. None: the address is not plain `http`, and through
    /// TLS nothing can be relayed under another name.
    ///
    /// # Errors
    /// Without a port.
    pub(crate) async fn before(base_url: &str) -> io::Result<Option<Self>> {
        let Some((mut url, host, port)) = plain_http(base_url) else { return Ok(None) };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        if url.set_ip_host(address.ip()).is_err() || url.set_port(Some(address.port())).is_err() {
            return Ok(None);
        }
        let (told, closed_by_client) = watch::channel(0);
        let task = AbortOnDropHandle::new(tokio::spawn(serve(listener, (host, port), Arc::new(told))));
        Ok(Some(Self { base_url: url.into(), closed_by_client, _task: task }))
    }

    /// What the adapter is given in place of the server's address.
    pub(crate) fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Whether the client closes a connection within this time, or has done so.
    pub(crate) async fn client_closes(&mut self, within: Duration) -> bool {
        let closes = self.closed_by_client.wait_for(|closed| *closed > 0);
        matches!(tokio::time::timeout(within, closes).await, Ok(Ok(_)))
    }
}

fn plain_http(base_url: &str) -> Option<(Url, String, u16)> {
    let url = Url::parse(base_url.trim()).ok().filter(|url| url.scheme() == "http")?;
    let host = url.host_str()?.trim_matches(['[', ']']).to_owned();
    let port = url.port_or_known_default()?;
    Some((url, host, port))
}

async fn serve(listener: TcpListener, server: (String, u16), closed_by_client: Arc<watch::Sender<usize>>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((client, _)) => {
                    let (server, closed_by_client) = (server.clone(), closed_by_client.clone());
                    connections.spawn(async move {
                        if carry(client, server).await.is_ok_and(|end| end == ClosedBy::Client) {
                            closed_by_client.send_modify(|closed| *closed += 1);
                        }
                    });
                }
                // Out of file descriptors, most likely: wait for some to be closed instead of spinning.
                Err(_) => tokio::time::sleep(RETRY_ACCEPT).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClosedBy {
    Client,
    Server,
}

/// Carries one connection, and says who ended it. Either end's end is the other's.
async fn carry(client: TcpStream, (host, port): (String, u16)) -> io::Result<ClosedBy> {
    let server = TcpStream::connect((host.as_str(), port)).await?;
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    Ok(tokio::select! {
        end = one_way(from_client, to_server) => if end == Stopped::Reading { ClosedBy::Client } else { ClosedBy::Server },
        end = one_way(from_server, to_client) => if end == Stopped::Reading { ClosedBy::Server } else { ClosedBy::Client },
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stopped {
    /// Nothing more comes.
    Reading,
    /// Nothing more is taken.
    Writing,
}

async fn one_way(mut from: OwnedReadHalf, mut to: OwnedWriteHalf) -> Stopped {
    let mut piece = vec![0; PIECE];
    loop {
        // An end and a break are the same here: the connection is gone.
        let read = from.read(&mut piece).await.unwrap_or(0);
        if read == 0 {
            return Stopped::Reading;
        }
        if to.write_all(&piece[..read]).await.is_err() {
            return Stopped::Writing;
        }
    }
}
