//! The way to the client, as far as it can be unlike a pipe.

use async_trait::async_trait;
use std::time::Duration;
use tracing::Span;

/// What the transport of a connection decides. The defaults are those of stdin and stdout.
#[async_trait]
pub trait Link: Send + Sync {
    /// Returns what happens to the client's sessions once the connection has ended; `wanted` is
    /// what the client asked for, if it did.
    fn after_end(&self, _wanted: Option<OnDisconnect>) -> AfterEnd {
        AfterEnd::Cancel
    }

    /// Whether the client has started this process, so that it can start it again to set it up.
    fn is_of_child(&self) -> bool {
        true
    }

    /// Takes note that this many bytes of updates wait for the client; called whenever they grow.
    fn waiting(&self, _bytes: usize) {}

    /// Whether turns wait while too much waits for the client. If not, the transport must end the
    /// connection of a client that reads too slowly.
    fn turns_wait(&self) -> bool {
        true
    }

    /// Completes once the client has had this time to answer a request. Time in which it is known
    /// to be away does not count.
    async fn elapsed(&self, limit: Duration) {
        tokio::time::sleep(limit).await;
    }

    /// Makes a span that has just been created part of the trace that a client names.
    fn join_trace(&self, _span: &Span, _context: TraceContext<'_>) {}
}

/// The trace that a client names, in the forms of W3C Trace Context. Not validated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceContext<'a> {
    /// The `traceparent`: version, trace id, span id and flags.
    pub parent: &'a str,
    /// The `tracestate`: entries of vendors.
    pub state: Option<&'a str>,
}

/// What a client asks for about its turns, for the time after its connection
/// (`_meta.tiller.onDisconnect` of `initialize`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnDisconnect {
    /// They go on.
    Run,
    /// They are cancelled.
    Cancel,
}

/// What happens to a client's sessions once its connection has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterEnd {
    /// Turns are cancelled, and sessions without other clients are closed.
    Cancel,
    /// Turns go on. A session that has neither a client nor a turn for this time is closed.
    GoOn(Duration),
}

/// Stdin and stdout, or anything that behaves like them.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pipe;

impl Link for Pipe {}
