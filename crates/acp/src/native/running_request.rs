//! Guarantees the end event of a request whose start event was sent: exactly one, whatever the
//! outcome.

use super::{event::Event, requests::Request};
use crate::connection::{AcpClient, Wire};
use serde_json::Value;
use std::sync::Arc;
use tokio::time::Instant;

/// A running request. If dropped before its end event was sent, it sends one that reports
/// cancellation.
pub(super) struct RunningRequest<W: Wire> {
    client: Option<Arc<AcpClient<W>>>,
    request: Request,
    since: Instant,
    open: bool,
}

impl<W: Wire> RunningRequest<W> {
    /// Sends the start event of a request, if it has one. `request` must not contain secrets.
    pub(super) fn begin(client: Option<Arc<AcpClient<W>>>, request: Request) -> Self {
        let began = request.start_event();
        let running = Self { client, request, since: Instant::now(), open: began.is_some() };
        began.into_iter().for_each(|event| running.send_native(event));
        running
    }

    /// Sends the end event with the result.
    pub(super) fn done(mut self, result: &Value) {
        self.open = false;
        self.send_native(self.request.end_event(result));
    }

    /// Sends the end event of a failure.
    pub(super) fn failed(mut self, why: &str) {
        self.close(why);
    }

    fn close(&mut self, why: &str) {
        if std::mem::take(&mut self.open)
            && let Some(result) = self.request.failure(why, self.since.elapsed())
        {
            self.send_native(self.request.end_event(&result));
        }
    }

    fn send_native(&self, event: Event) {
        if let Some(client) = &self.client {
            client.send_native(|| event);
        }
    }
}

impl<W: Wire> Drop for RunningRequest<W> {
    fn drop(&mut self) {
        self.close("the request was cancelled");
    }
}
