//! Connections.

use std::future::Future;
use std::io;
use std::net::TcpListener as StdListener;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::answer;
use super::site::Site;
use crate::flush::{Counted, Flushes};

const RETRY_ACCEPT: Duration = Duration::from_millis(10);

/// Serves until dropped, and then drops every connection. Needs a runtime already when called.
pub(crate) fn serve(listener: StdListener, site: Arc<Site>) -> io::Result<impl Future<Output = ()> + Send + 'static> {
    let listener = TcpListener::from_std(listener)?;
    Ok(async move {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => {
                        connections.spawn(connection(stream, Arc::clone(&site)));
                    }
                    // Out of file descriptors, most likely: wait for some to be closed instead of spinning.
                    Err(_) => tokio::time::sleep(RETRY_ACCEPT).await,
                },
                Some(_) = connections.join_next() => {}
            }
        }
    })
}

async fn connection(stream: TcpStream, site: Arc<Site>) {
    // Small chunks must leave when they are written; where this cannot be had they only come later.
    let _ = stream.set_nodelay(true);
    let flushes = Arc::new(Flushes::default());
    let stream = Counted { inner: TokioIo::new(stream), flushes: Arc::clone(&flushes) };
    let service = service_fn(|request| answer::answer(request, Arc::clone(&site), Arc::clone(&flushes)));
    // An error is a client that closed early or an answer cut by the script: both are recorded where they happen.
    let _: Result<(), hyper::Error> = http1::Builder::new().serve_connection(stream, service).await;
}
