//! The end of a request whose beginning was told: told once, whatever comes of it.

use super::{event::Event, requests::Request};
use crate::connection::{AcpClient, Wire};
use serde_json::Value;
use std::sync::Arc;
use tokio::time::Instant;

/// A request that is being done. Dropped before its end was told, it tells that the request was
/// cancelled.
pub(super) struct Ending<W: Wire> {
    client: Option<Arc<AcpClient<W>>>,
    request: Request,
    since: Instant,
    open: bool,
}

impl<W: Wire> Ending<W> {
    /// Tells of the beginning of a request, given without its secrets, where that is told.
    pub(super) fn begin(client: Option<Arc<AcpClient<W>>>, request: Request) -> Self {
        let began = request.began();
        let ending = Self { client, request, since: Instant::now(), open: began.is_some() };
        began.into_iter().for_each(|event| ending.tell(event));
        ending
    }

    /// Tells of what came of it.
    pub(super) fn done(mut self, result: &Value) {
        self.open = false;
        self.tell(self.request.ended(result));
    }

    /// Tells that nothing came of it, and why.
    pub(super) fn failed(mut self, why: &str) {
        self.close(why);
    }

    fn close(&mut self, why: &str) {
        if std::mem::take(&mut self.open)
            && let Some(result) = self.request.failure(why, self.since.elapsed())
        {
            self.tell(self.request.ended(&result));
        }
    }

    fn tell(&self, event: Event) {
        if let Some(client) = &self.client {
            client.tell(|| event);
        }
    }
}

impl<W: Wire> Drop for Ending<W> {
    fn drop(&mut self) {
        self.close("the request was cancelled");
    }
}
