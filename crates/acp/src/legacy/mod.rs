//! An older dialect of JSON-RPC methods over the same pipe: a prompt in, text and files out.
//! docs/native-layer.md has its table.
//!
//! It uses the same runtime, sessions, tools and policy. It cannot ask the user, so anything that
//! needs approval is denied.

mod changes;
mod client;
mod message;
mod out;
mod run;

use crate::{
    AcpOptions,
    limits::{LEGACY_LINGER, SETTLE},
    transport::{LineSink, Read, is_bad_line},
};
use agent::Runtime;
use futures::{Stream, StreamExt};
use message::{Incoming, Initialized, Outgoing};
use run::{Desk, Run};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

/// Returns whether a connection that starts with this line speaks this dialect: `initialize`
/// without a version, or a method of this dialect.
pub(crate) fn speaks(line: &str) -> bool {
    let Ok(message) = serde_json::from_str::<Incoming>(line) else { return false };
    match message.method.as_deref() {
        Some("initialize") => message.params.get("protocolVersion").is_none(),
        Some("initialized" | "agent/run" | "agent/cancel") => true,
        _ => false,
    }
}

/// Serves a client of this dialect until it closes its side and its runs have ended, at most
/// [`LEGACY_LINGER`] later; or until it is known to have stopped reading, which ends the runs
/// immediately.
pub(crate) async fn serve(
    runtime: Arc<Runtime>,
    options: AcpOptions,
    mut lines: impl Stream<Item = Read> + Send + Unpin,
    sink: LineSink,
    closed: CancellationToken,
) {
    // Unbounded by itself: nothing that the model or the tools produce can be dropped. The model
    // stops while the backlog is full.
    let (out, write) = out::way_out(sink);
    let writing = tokio::spawn(write);
    let desk = Arc::new(Desk::new(runtime, options, out));
    while let Some(Some(Read { text, .. })) = closed.run_until_cancelled(lines.next()).await {
        match serde_json::from_str::<Incoming>(&text) {
            Ok(message) => take(&desk, message),
            Err(error) => tracing::warn!(%error, "ignoring a line that is no message"),
        }
    }
    let until = Instant::now() + LEGACY_LINGER;
    tracing::debug!("the client has closed its side; what runs ends first");
    if timeout_at(until, closed.run_until_cancelled(desk.finished())).await.is_err() {
        tracing::warn!(
            "the client has closed its side {} s ago; what still runs is cancelled",
            LEGACY_LINGER.as_secs()
        );
    }
    if timeout(SETTLE, desk.settle()).await.is_err() {
        tracing::warn!("runs did not settle in time");
    }
    drop(desk);
    let abandon = writing.abort_handle();
    let written = timeout_at(until + SETTLE, closed.run_until_cancelled(writing)).await;
    abandon.abort();
    if !matches!(written, Ok(Some(Ok(Ok(()))))) {
        tracing::warn!("the client does not read; what was left to say is lost");
    }
}

fn take(desk: &Arc<Desk>, message: Incoming) {
    let Incoming { id, method, params } = message;
    let Some(method) = method else { return tracing::debug!("ignoring an answer that nobody asked for") };
    if !is_bad_line(&method) {
        tracing::debug!(%method, id = ?id, "a message of the client");
    }
    match method.as_str() {
        bad if is_bad_line(bad) => tracing::warn!(problem = %params["message"], "ignoring a line"),
        "initialize" => {
            desk.introduced(&params);
            let info = Initialized::new(&desk.options.name, &desk.options.version);
            answer(desk, id, &info);
        }
        "initialized" => answer(desk, id, &Value::Null),
        "agent/run" => match Run::decode(id.as_ref(), &params) {
            Ok(run) => desk.start(run, id),
            Err(message) => fail(desk, id, -32602, message),
        },
        "agent/cancel" => {
            desk.cancel(params["conversationId"].as_str().unwrap_or_default());
            answer(desk, id, &json!({ "cancelled": true }));
        }
        _ => fail(desk, id, -32601, format!("Method not found: {method}")),
    }
}

/// Answers a request; a notification gets no response.
fn answer(desk: &Desk, id: Option<Value>, result: &impl serde::Serialize) {
    if let Some(id) = id {
        desk.say(&Outgoing::result(id, result));
    }
}

fn fail(desk: &Desk, id: Option<Value>, code: i32, message: String) {
    if let Some(id) = id {
        desk.say(&Outgoing::<Value>::error(id, code, message));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_decides() {
        for (line, expected) in [
            (r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#, true),
            (r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#, true),
            (r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}"#, false),
            (r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":null}}"#, false),
            (r#"{"jsonrpc":"2.0","id":1,"method":"agent/run","params":{"prompt":"x"}}"#, true),
            (r#"{"jsonrpc":"2.0","id":1,"method":"session/new","params":{}}"#, false),
            ("[]", false),
        ] {
            assert_eq!(speaks(line), expected, "{line}");
        }
    }
}
