//! The interface between an exchange and a wire.

use super::{Failure, Peer};
use crate::{limits, sink::EventSink, sse::EventTooLong};
use agent::ModelError;
use std::time::Duration;

/// A wire's parser for the data of its events. Pure: no clock, no socket.
pub(crate) trait Fold: Send {
    /// Parses the data of one event. An error object in the stream is returned as an error.
    fn on_event(&mut self, data: &str, peer: &Peer, sink: &mut EventSink) -> Result<(), Failure>;

    /// Called at the end of a stream after a stop reason: emits buffered items and the stop event.
    fn complete(&mut self, sink: &mut EventSink);

    /// Called at the end of a stream without a stop reason: emits buffered content that is usable
    /// on its own. Buffered calls are dropped.
    fn abandon(&mut self, sink: &mut EventSink);
}

/// The settings of an exchange.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tuning {
    pub(crate) idle: Duration,
    pub(crate) tries: u32,
    pub(crate) retry_delay: Duration,
}

/// Why parsing the stream was stopped.
pub(crate) enum Stop {
    TooLong,
    Failed(Failure),
}

impl From<EventTooLong> for Stop {
    fn from(_: EventTooLong) -> Self {
        Self::TooLong
    }
}

impl Stop {
    pub(crate) fn failure(self, peer: &Peer) -> Failure {
        match self {
            Self::TooLong => Failure::permanent(ModelError::BadResponse(format!(
                "{} sent an event of more than {} bytes",
                peer.provider,
                limits::MAX_EVENT_BYTES
            ))),
            Self::Failed(failure) => failure,
        }
    }
}

pub(crate) fn too_long() -> Failure {
    Failure::permanent(ModelError::AnswerTooLong)
}

/// Passes the data of one event to a fold, unless the answer has ended or is too long.
pub(crate) fn on_data(
    fold: &mut dyn Fold,
    data: &str,
    peer: &Peer,
    sink: &mut EventSink,
) -> Result<(), Stop> {
    if sink.ended {
        return Ok(());
    }
    fold.on_event(data, peer, sink).map_err(Stop::Failed)?;
    if sink.is_too_long() { Err(Stop::Failed(too_long())) } else { Ok(()) }
}
