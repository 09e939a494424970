//! What the network carries: a program that speaks a protocol of lines over a pair of byte streams.

use crate::{auth::Source, limits::DEADLINE_PAUSE};
use agent::Principal;
use async_trait::async_trait;
use std::{sync::Arc, time::Duration};
use tokio::{io::DuplexStream, sync::watch, time::Instant};

/// A program that serves connections. The same program serves stdin and stdout.
#[async_trait]
pub trait Application: Send + Sync {
    /// Serves a connection until its reader ends, or by itself.
    async fn serve(&self, connection: Carried);

    /// Returns a stored content of a session, by its hash; `None` if there is none, or the session
    /// does not exist for this principal.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be read.
    async fn content(
        &self,
        _principal: &Principal,
        _source: Source,
        _session: &str,
        _hash: &str,
    ) -> Result<Option<Vec<u8>>, Unreadable> {
        Ok(None)
    }
}

/// What is stored cannot be read now; the message is in the server's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the store cannot be read")]
pub struct Unreadable;

/// A connection as the application sees it. It outlives the sockets that carry it.
pub struct Carried {
    /// Its id; not a secret.
    pub id: String,
    /// Who opened it.
    pub principal: Principal,
    /// Where its first socket came from.
    pub source: Source,
    /// Whether another node forwards it, for a client of its own.
    pub is_forwarded: bool,
    /// The client's messages, one a line. It ends when the connection ends, not when a socket does.
    pub reader: DuplexStream,
    /// The messages to the client, one a line.
    pub writer: DuplexStream,
    /// Whether a socket is there.
    pub presence: watch::Receiver<Presence>,
    /// Must be called with the bytes that wait for the client whenever they grow.
    pub waiting: Arc<dyn Fn(usize) + Send + Sync>,
}

impl Carried {
    /// Completes once the client has been there for a time. Up to a minute without a socket does
    /// not count.
    pub async fn elapsed(mut presence: watch::Receiver<Presence>, limit: Duration) {
        let mut left = limit;
        let mut pause = DEADLINE_PAUSE;
        loop {
            let now = *presence.borrow_and_update();
            let since = Instant::now();
            let away = now == Presence::Detached && !pause.is_zero();
            tokio::select! {
                biased;
                changed = presence.changed() => if changed.is_err() {
                    return tokio::time::sleep(left).await;
                },
                () = tokio::time::sleep(if away { pause } else { left }) => if !away {
                    return;
                },
            }
            match away {
                true => pause = pause.saturating_sub(since.elapsed()),
                false => left = left.saturating_sub(since.elapsed()),
            }
        }
    }
}

/// Whether a connection has a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// It has one.
    Attached,
    /// It has none, and lives on for a while.
    Detached,
    /// It has ended for this reason.
    Ended(EndReason),
}

/// Why a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndReason {
    /// The client has finished: it sent `stream/end`, or closed its WebSocket with code 1000.
    Finished,
    /// The client deleted it.
    Deleted,
    /// An administrator closed it.
    Disconnected,
    /// No socket came back in time.
    Expired,
    /// More messages waited for it than are kept.
    Gap,
    /// The client read too slowly.
    SlowReader,
    /// Its credential was revoked or has expired.
    Revoked,
    /// Its credential was revoked, and its turns must stop as well.
    Stopped,
    /// The node has too little memory.
    Overloaded,
    /// The server stops.
    Stopping,
    /// The application ended it.
    Application,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_deadline_stands_still_while_the_client_is_away_for_a_minute_at_most() {
        let (sender, presence) = watch::channel(Presence::Attached);
        let begun = Instant::now();
        let elapsed = tokio::spawn(Carried::elapsed(presence, Duration::from_secs(30)));
        tokio::time::sleep(Duration::from_secs(10)).await;
        sender.send_replace(Presence::Detached);
        tokio::time::sleep(Duration::from_secs(40)).await;
        sender.send_replace(Presence::Attached);
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert!(!elapsed.is_finished());
        sender.send_replace(Presence::Detached);
        elapsed.await.unwrap();
        // 30 seconds, and the minute in which the client was away.
        assert_eq!(begun.elapsed().as_secs(), 90);
    }
}
