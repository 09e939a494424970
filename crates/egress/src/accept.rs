//! Accepting connections.

use std::net::SocketAddr;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Accepts connections until the task ends, each in a task that ends with it.
pub(crate) async fn each<F>(listener: TcpListener, serve: impl Fn(TcpStream, SocketAddr) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => drop(connections.spawn(serve(stream, peer))),
                // Too many files are open; an end of a connection frees one.
                Err(error) => {
                    tracing::debug!(%error, "a connection was not accepted");
                    if connections.join_next().await.is_none() {
                        tokio::task::yield_now().await;
                    }
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
}
