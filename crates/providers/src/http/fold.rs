//! What an exchange needs to know of a wire.

use super::{Failure, Peer};
use crate::sink::Sink;
use std::time::Duration;

/// What a wire makes of the data of its events. Pure: no clock, no socket.
pub(crate) trait Fold: Send {
    /// Takes the data of one event. An error object in the stream is an error.
    fn on_event(&mut self, data: &str, peer: &Peer, sink: &mut Sink) -> Result<(), Failure>;

    /// The stream is over and the model had said why it stopped: gives out what was held back, and the stop.
    fn complete(&mut self, sink: &mut Sink);

    /// The stream is over although the model was not done: gives out what is of use without the rest; calls are not.
    fn abandon(&mut self, sink: &mut Sink);
}

/// The settings of an exchange.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tuning {
    pub(crate) idle: Duration,
    pub(crate) tries: u32,
    pub(crate) retry_delay: Duration,
}
