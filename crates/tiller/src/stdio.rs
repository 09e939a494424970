//! The client's end of stdin and stdout.
//!
//! A pipe or a socket is read and written by the event loop itself. What cannot be waited for that way (a terminal, a file) costs a thread
//! and two switches to it for every message.

use crate::streams::Unwritten;
use std::{
    fs::File,
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::{fs::FileTypeExt, net::UnixStream as StdUnixStream},
    },
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, Interest, ReadBuf},
    net::{UnixStream, unix::pipe},
};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// A reader that is at its end once it is stopped: whoever reads it goes on as if its client had
/// closed its side.
pub(crate) struct Stoppable<R> {
    reader: R,
    stopped: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl<R> Stoppable<R> {
    /// Reads on until `stop` is cancelled.
    pub(crate) fn new(reader: R, stop: CancellationToken) -> Self {
        Self { reader, stopped: Box::pin(stop.cancelled_owned()) }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Stoppable<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.stopped.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Ok(())),
            Poll::Pending => Pin::new(&mut self.reader).poll_read(cx, buffer),
        }
    }
}

/// Stdin. Needs a tokio runtime with io.
pub(crate) fn input() -> Box<dyn AsyncRead + Send + Unpin> {
    match waitable(&io::stdin()) {
        Ok(Some(Waitable::Pipe(path))) => match pipe::OpenOptions::new().open_receiver(path) {
            Ok(receiver) => return Box::new(receiver),
            Err(error) => tracing::debug!(%error, "stdin is a pipe that cannot be opened again"),
        },
        Ok(Some(Waitable::Socket(stream))) => return Box::new(stream),
        Ok(None) => {}
        Err(error) => tracing::debug!(%error, "stdin is read by a thread"),
    }
    Box::new(tokio::io::stdin())
}

/// Stdout, and what is known of its failure. Needs a tokio runtime with io.
pub(crate) fn output() -> (Box<dyn AsyncWrite + Send + Unpin>, OutputFailure) {
    let failure = OutputFailure::default();
    (Box::new(Watched { writer: writer(), failure: failure.clone() }), failure)
}

#[expect(clippy::disallowed_methods, reason = "nothing else writes to stdout while a protocol has it")]
fn writer() -> Box<dyn AsyncWrite + Send + Unpin> {
    match waitable(&rustix::stdio::stdout()) {
        Ok(Some(Waitable::Pipe(path))) => match pipe::OpenOptions::new().open_sender(path) {
            Ok(sender) => return Box::new(sender),
            Err(error) => tracing::debug!(%error, "stdout is a pipe that cannot be opened again"),
        },
        Ok(Some(Waitable::Socket(stream))) => return Box::new(stream),
        Ok(None) => {}
        Err(error) => tracing::debug!(%error, "stdout is written by a thread"),
    }
    Box::new(tokio::io::stdout())
}

/// Completes when nobody reads stdout any more, which a program that writes nothing does not find
/// out by itself. Never completes where that cannot be seen: a terminal, a file. Needs a tokio
/// runtime with io.
async fn output_closed() {
    let closed = match waitable(&rustix::stdio::stdout()) {
        Ok(Some(Waitable::Pipe(path))) => match pipe::OpenOptions::new().open_sender(path) {
            // An error of a pipe's writing end is that its reading end is gone.
            Ok(sender) => sender.ready(Interest::ERROR).await.is_ok(),
            // There is no reading end to open it against.
            Err(error) => error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()),
        },
        // Nobody sends anything here: what can be read is the end.
        Ok(Some(Waitable::Socket(stream))) => {
            stream.ready(Interest::READABLE).await.is_ok_and(|ready| ready.is_read_closed())
        }
        Ok(None) | Err(_) => false,
    };
    if !closed {
        std::future::pending::<()>().await;
    }
}

/// Why stdout cannot be written any more, once that is known.
#[derive(Clone, Default)]
pub(crate) struct OutputFailure {
    why: Arc<OnceLock<Unwritten>>,
    known: CancellationToken,
}

impl OutputFailure {
    /// Completes when stdout cannot be written any more, also when nothing is written. Needs a
    /// tokio runtime with io. Cancel-safe.
    pub(crate) async fn happened(&self) {
        tokio::select! {
            () = self.known.cancelled() => {}
            () = output_closed() => self.tell(&io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// An error where stdout failed for another reason than that its reader has gone; whether it
    /// has.
    pub(crate) fn is_hung_up(&self) -> Result<bool, Unwritten> {
        match self.why.get() {
            None => Ok(false),
            Some(why) if why.is_closed() => Ok(true),
            Some(why) => Err(why.clone()),
        }
    }

    fn tell(&self, error: &io::Error) {
        self.why.get_or_init(|| Unwritten::new(error));
        self.known.cancel();
    }
}

/// A writer that remembers its first error.
struct Watched {
    writer: Box<dyn AsyncWrite + Send + Unpin>,
    failure: OutputFailure,
}

impl Watched {
    fn seen<T>(&self, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if let Poll::Ready(Err(error)) = &written {
            self.failure.tell(error);
        }
        written
    }
}

impl AsyncWrite for Watched {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.writer).poll_write(cx, bytes);
        self.seen(written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.writer).poll_flush(cx);
        self.seen(flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_shutdown(cx)
    }
}

enum Waitable {
    /// Where a pipe can be opened once more. The one we were given must not become non-blocking: whoever shares it with us would have to cope.
    Pipe(String),
    Socket(UnixStream),
}

fn waitable(stream: &impl AsFd) -> io::Result<Option<Waitable>> {
    let own: OwnedFd = stream.as_fd().try_clone_to_owned()?;
    let number = std::os::fd::AsRawFd::as_raw_fd(&stream.as_fd());
    let file = File::from(own);
    let kind = file.metadata()?.file_type();
    if kind.is_fifo() && cfg!(target_os = "linux") {
        return Ok(Some(Waitable::Pipe(format!("/proc/self/fd/{number}"))));
    }
    if kind.is_socket() {
        let socket = StdUnixStream::from(OwnedFd::from(file));
        // Fails for sockets of other families, which stay with their thread.
        socket.local_addr()?;
        socket.set_nonblocking(true)?;
        return Ok(Some(Waitable::Socket(UnixStream::from_std(socket)?)));
    }
    Ok(None)
}
