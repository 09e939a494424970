//! The protocol's side of stdin and stdout.
//!
//! The event loop reads and writes pipes and sockets itself. Terminals and files cannot be polled
//! that way: they cost a thread and two context switches per message.

use crate::streams::StdoutError;
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

/// A reader that reports end of file once it is stopped: its consumer then proceeds as if the
/// client had closed the connection.
pub(crate) struct StoppableReader<R> {
    reader: R,
    stopped: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl<R> StoppableReader<R> {
    /// Wraps `reader`, which is read until `stop` is cancelled.
    pub(crate) fn new(reader: R, stop: CancellationToken) -> Self {
        Self { reader, stopped: Box::pin(stop.cancelled_owned()) }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for StoppableReader<R> {
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

/// Opens stdin. Needs a tokio runtime with I/O enabled.
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

/// Opens stdout, with a handle to its failure. Needs a tokio runtime with I/O enabled.
pub(crate) fn output() -> (Box<dyn AsyncWrite + Send + Unpin>, OutputFailure) {
    let failure = OutputFailure::default();
    (Box::new(ErrorRecordingWriter { writer: writer(), failure: failure.clone() }), failure)
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

/// Completes when the reader of stdout has closed it, which a program that writes nothing does
/// not notice otherwise.
///
/// Never completes where this cannot be observed: on a terminal or a file. Needs a tokio runtime
/// with I/O enabled.
async fn output_closed() {
    let closed = match waitable(&rustix::stdio::stdout()) {
        Ok(Some(Waitable::Pipe(path))) => match pipe::OpenOptions::new().open_sender(path) {
            // An error on a pipe's writing end means that its reading end is closed.
            Ok(sender) => sender.ready(Interest::ERROR).await.is_ok(),
            // No reading end exists to open the pipe against.
            Err(error) => error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()),
        },
        // The peer sends nothing on this socket, so readable means closed.
        Ok(Some(Waitable::Socket(stream))) => {
            stream.ready(Interest::READABLE).await.is_ok_and(|ready| ready.is_read_closed())
        }
        Ok(None) | Err(_) => false,
    };
    if !closed {
        std::future::pending::<()>().await;
    }
}

/// The first failure of stdout, once it is known.
#[derive(Clone, Default)]
pub(crate) struct OutputFailure {
    why: Arc<OnceLock<StdoutError>>,
    known: CancellationToken,
}

impl OutputFailure {
    /// Completes when stdout can no longer be written, even if nothing is written.
    ///
    /// Needs a tokio runtime with I/O enabled. Cancel-safe.
    pub(crate) async fn happened(&self) {
        tokio::select! {
            () = self.known.cancelled() => {}
            () = output_closed() => self.record(&io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Returns whether the reader has closed stdout.
    ///
    /// # Errors
    /// If stdout failed for another reason.
    pub(crate) fn is_hung_up(&self) -> Result<bool, StdoutError> {
        match self.why.get() {
            None => Ok(false),
            Some(why) if why.is_closed() => Ok(true),
            Some(why) => Err(why.clone()),
        }
    }

    fn record(&self, error: &io::Error) {
        self.why.get_or_init(|| StdoutError::new(error));
        self.known.cancel();
    }
}

/// A writer that remembers its first error.
struct ErrorRecordingWriter {
    writer: Box<dyn AsyncWrite + Send + Unpin>,
    failure: OutputFailure,
}

impl ErrorRecordingWriter {
    fn record_error<T>(&self, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if let Poll::Ready(Err(error)) = &written {
            self.failure.record(error);
        }
        written
    }
}

impl AsyncWrite for ErrorRecordingWriter {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.writer).poll_write(cx, bytes);
        self.record_error(written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.writer).poll_flush(cx);
        self.record_error(flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_shutdown(cx)
    }
}

enum Waitable {
    /// A path that opens the pipe once more. The descriptor we inherited must stay blocking,
    /// because other processes may share it.
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
        // Fails for sockets of other families than Unix, which are served by a thread.
        socket.local_addr()?;
        socket.set_nonblocking(true)?;
        return Ok(Some(Waitable::Socket(UnixStream::from_std(socket)?)));
    }
    Ok(None)
}
