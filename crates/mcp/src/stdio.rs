//! The stdio transport: one JSON message per line, from a program that may write anything.

use crate::{
    limits::{GARBAGE_LINES, MESSAGE_BYTES, SEND},
    line_reader::{Line, LineReader},
    listed,
    locked::locked,
};
use rmcp::{
    RoleClient,
    model::{JsonRpcMessage, JsonRpcResponse, JsonRpcVersion2_0, ListToolsResult, RequestId, ServerResult},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::{
    io,
    sync::{Arc, Mutex},
};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};

/// What went wrong on the wire, kept as the reason why the connection ended.
pub(crate) type Fault = Arc<Mutex<Option<String>>>;

/// A program's standard streams as a transport.
pub(crate) struct StdioTransport {
    // Held while a message is written, so that concurrent writes do not interleave.
    input: Arc<tokio::sync::Mutex<Option<Box<dyn AsyncWrite + Send + Unpin>>>>,
    output: LineReader,
    garbage: usize,
    fault: Fault,
}

impl StdioTransport {
    pub(crate) fn new(
        input: Box<dyn AsyncWrite + Send + Unpin>,
        output: Box<dyn AsyncRead + Send + Unpin>,
        fault: Fault,
    ) -> Self {
        let input = Arc::new(tokio::sync::Mutex::new(Some(input)));
        Self { input, output: LineReader::new(output, MESSAGE_BYTES), garbage: 0, fault }
    }

    fn fail(&self, why: String) {
        *locked(&self.fault) = Some(why);
    }

    /// Returns the next line; `None` at the end, or if the line is too long.
    async fn next_line(&mut self) -> Option<Vec<u8>> {
        match self.output.next().await {
            Ok(Line::Whole(line)) => Some(line),
            Ok(Line::End) => None,
            Ok(Line::TooLong) => {
                self.fail(format!("it wrote a message of more than {} MB", MESSAGE_BYTES / (1024 * 1024)));
                None
            }
            Err(error) => {
                self.fail(format!("its output cannot be read: {error}"));
                None
            }
        }
    }
}

impl Transport<RoleClient> for StdioTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let input = Arc::clone(&self.input);
        async move {
            let mut bytes = serde_json::to_vec(&item)?;
            bytes.push(b'\n');
            let mut input = input.lock().await;
            let closed = || io::Error::new(io::ErrorKind::NotConnected, "the server is being closed");
            let open = input.as_mut().ok_or_else(closed)?;
            let written = async {
                open.write_all(&bytes).await?;
                open.flush().await
            };
            match tokio::time::timeout(SEND, written).await {
                Ok(written) => written,
                Err(_) => {
                    // The message may be written in part, so no further message can follow.
                    *input = None;
                    Err(io::Error::new(io::ErrorKind::TimedOut, "the server does not read"))
                }
            }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let line = self.next_line().await?;
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            if let Some(message) = parse_message(&line) {
                self.garbage = 0;
                return Some(message);
            }
            self.garbage += 1;
            if self.garbage == 1 {
                tracing::debug!("an MCP server wrote a line that is not a message");
            }
            if self.garbage >= GARBAGE_LINES {
                self.fail(format!("it wrote {GARBAGE_LINES} lines that are not messages"));
                return None;
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.input.lock().await.take();
        Ok(())
    }
}

/// Parses a message. A list of tools is parsed tool by tool: one that cannot be parsed is left out
/// and does not affect the others.
pub(crate) fn parse_message(line: &[u8]) -> Option<RxJsonRpcMessage<RoleClient>> {
    let text = &*agent::without_halves(str::from_utf8(line).ok()?);
    let tool_list = text.contains("\"tools\"").then(|| parse_tool_list(text)).flatten();
    tool_list.or_else(|| serde_json::from_str(text).ok())
}

/// Parses a response that lists tools, and nothing else. The library would try every type of
/// response in turn, and such a list can be long.
fn parse_tool_list(text: &str) -> Option<RxJsonRpcMessage<RoleClient>> {
    #[derive(Deserialize)]
    struct ToolListResponse<'a> {
        id: RequestId,
        #[serde(borrow)]
        result: ToolList<'a>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct ToolList<'a> {
        #[serde(borrow)]
        tools: Vec<&'a RawValue>,
        next_cursor: Option<String>,
    }
    let ToolListResponse { id, result: ToolList { tools, next_cursor } } = serde_json::from_str(text).ok()?;
    let known = |tool: &RawValue| {
        let known = listed::parse_tool(tool.get());
        known
            .inspect_err(|error| {
                tracing::warn!(%error, "a tool of an MCP server is left out: it cannot be parsed");
            })
            .ok()
    };
    let mut result = ListToolsResult::with_all_items(tools.into_iter().filter_map(known).collect());
    result.next_cursor = next_cursor;
    Some(JsonRpcMessage::Response(JsonRpcResponse {
        jsonrpc: JsonRpcVersion2_0,
        id,
        result: ServerResult::ListToolsResult(result),
    }))
}
