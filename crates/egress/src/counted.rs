//! A stream to a host that counts its bytes.

use agent::Traffic;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// A stream to a host. Its bytes are added to those of the host, and counted by themselves.
#[derive(Debug)]
pub(crate) struct Counted {
    stream: TcpStream,
    traffic: Arc<Traffic>,
    own: Arc<AtomicU64>,
    /// Whether it ends when more was sent than downloads send.
    is_bound: bool,
}

impl Counted {
    pub(crate) fn new(stream: TcpStream, traffic: Arc<Traffic>) -> Self {
        Self { stream, traffic, own: Arc::default(), is_bound: true }
    }

    /// Returns the stream without a bound for what is sent.
    pub(crate) fn without_bound(self) -> Self {
        Self { is_bound: false, ..self }
    }

    /// Returns the counters of the host's bytes.
    pub(crate) fn traffic(&self) -> Arc<Traffic> {
        Arc::clone(&self.traffic)
    }

    /// Returns the number of bytes in both directions so far.
    pub(crate) fn count(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.own)
    }
}

fn count(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

impl AsyncRead for Counted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buffer))?;
        let bytes = count(buffer.filled().len() - before);
        match self.is_bound {
            true => self.traffic.add_received(bytes),
            false => drop(self.traffic.received.fetch_add(bytes, Ordering::Relaxed)),
        }
        self.own.fetch_add(bytes, Ordering::Relaxed);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Counted {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.is_bound && self.traffic.is_exhausted() {
            return Poll::Ready(Err(io::ErrorKind::PermissionDenied.into()));
        }
        let written = ready!(Pin::new(&mut self.stream).poll_write(cx, bytes))?;
        match self.is_bound {
            true => self.traffic.add_sent(count(written)),
            false => drop(self.traffic.sent.fetch_add(count(written), Ordering::Relaxed)),
        }
        self.own.fetch_add(count(written), Ordering::Relaxed);
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
