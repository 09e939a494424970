//! An older dialect of JSON-RPC methods over the same pipe: a prompt in, text and files out.
//! docs/native-layer.md has its table.
//!
//! It uses the same runtime, sessions, tools and policy. It cannot ask the user, so anything that
//! needs approval is denied.

mod changes;
mod client;
mod message;
mod output_queue;
mod run;

use crate::{
    AcpOptions,
    limits::{LEGACY_LINGER, SETTLE},
    transport::{IncomingLine, LineSink, is_bad_line},
};
use agent::Runtime;
use futures::{Stream, StreamExt};
use message::{Incoming, Initialized, Outgoing};
use run::{LegacyConnection, Run};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

/// Returns whether a connection that starts with this line speaks this dialect: `initialize`
/// without a version, or a method of this dialect.
pub(crate) fn is_legacy(line: &str) -> bool {
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
    mut lines: impl Stream<Item = IncomingLine> + Send + Unpin,
    sink: LineSink,
    closed: CancellationToken,
) {
    // Unbounded by itself: nothing that the model or the tools produce can be dropped. The model
    // stops while the backlog is full.
    let (out, write) = output_queue::output_queue(sink);
    let writing = tokio::spawn(write);
    let connection = Arc::new(LegacyConnection::new(runtime, options, out));
    while let Some(Some(IncomingLine { text, .. })) = closed.run_until_cancelled(lines.next()).await {
        match serde_json::from_str::<Incoming>(&text) {
            Ok(message) => handle(&connection, message),
            Err(error) => tracing::warn!(%error, "ignoring a line that is not a message"),
        }
    }
    let until = Instant::now() + LEGACY_LINGER;
    tracing::debug!("the client closed its side; waiting for running requests");
    if timeout_at(until, closed.run_until_cancelled(connection.all_finished())).await.is_err() {
        tracing::warn!(
            "the client closed its side {} s ago; cancelling what still runs",
            LEGACY_LINGER.as_secs()
        );
    }
    if timeout(SETTLE, connection.settle()).await.is_err() {
        tracing::warn!("runs did not settle in time");
    }
    drop(connection);
    let abandon = writing.abort_handle();
    let written = timeout_at(until + SETTLE, closed.run_until_cancelled(writing)).await;
    abandon.abort();
    if !matches!(written, Ok(Some(Ok(Ok(()))))) {
        tracing::warn!("the client does not read; unwritten output is lost");
    }
}

fn handle(connection: &Arc<LegacyConnection>, message: Incoming) {
    let Incoming { id, method, params } = message;
    let Some(method) = method else { return tracing::debug!("ignoring a response to no request") };
    if !is_bad_line(&method) {
        tracing::debug!(%method, id = ?id, "a message of the client");
    }
    match method.as_str() {
        bad if is_bad_line(bad) => tracing::warn!(problem = %params["message"], "ignoring a line"),
        "initialize" => {
            connection.on_initialize(&params);
            let info =
                Initialized::new(&connection.options.identity.name, &connection.options.identity.version);
            answer(connection, id, &info);
        }
        "initialized" => answer(connection, id, &Value::Null),
        "agent/run" => match Run::decode(id.as_ref(), &params) {
            Ok(run) => connection.start(run, id),
            Err(message) => fail(connection, id, -32602, message),
        },
        "agent/cancel" => {
            connection.cancel(params["conversationId"].as_str().unwrap_or_default());
            answer(connection, id, &json!({ "cancelled": true }));
        }
        _ => fail(connection, id, -32601, format!("Method not found: {method}")),
    }
}

/// Answers a request; a notification gets no response.
fn answer(connection: &LegacyConnection, id: Option<Value>, result: &impl serde::Serialize) {
    if let Some(id) = id {
        connection.send(&Outgoing::result(id, result));
    }
}

fn fail(connection: &LegacyConnection, id: Option<Value>, code: i32, message: String) {
    if let Some(id) = id {
        connection.send(&Outgoing::<Value>::error(id, code, message));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_identifies_the_legacy_dialect() {
        for (line, expected) in [
            (r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#, true),
            (r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#, true),
            (r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}"#, false),
            (r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":null}}"#, false),
            (r#"{"jsonrpc":"2.0","id":1,"method":"agent/run","params":{"prompt":"x"}}"#, true),
            (r#"{"jsonrpc":"2.0","id":1,"method":"session/new","params":{}}"#, false),
            ("[]", false),
        ] {
            assert_eq!(is_legacy(line), expected, "{line}");
        }
    }
}
