//! Connecting to servers over HTTP, by either transport.

use crate::{
    connect_error::ConnectError, options::McpOptions, server_requests::ServerRequests, sse::SseTransport,
    stdio::Fault,
};
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::{
    RoleClient, ServiceExt as _,
    service::{ClientInitializeError, RunningService},
    transport::{StreamableHttpClientTransport, streamable_http_client::StreamableHttpClientTransportConfig},
};
use std::{collections::HashMap, sync::Arc, time::Duration};
use tokio::time::error::Elapsed;

/// The running session or the reason why it did not start; the outer error is the deadline.
pub(crate) type HandshakeResult =
    Result<Result<RunningService<RoleClient, ServerRequests>, ClientInitializeError>, Elapsed>;

/// The parameters of a connection over HTTP.
pub(crate) struct HttpTransport<'a> {
    pub(crate) url: &'a str,
    /// Whether to use the older HTTP+SSE transport.
    pub(crate) sse: bool,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) fault: &'a Fault,
    pub(crate) deadline: Duration,
}

impl HttpTransport<'_> {
    pub(crate) async fn serve(
        self,
        options: &McpOptions,
        handler: ServerRequests,
    ) -> Result<HandshakeResult, ConnectError> {
        let client = (options.http)(self.url).map_err(ConnectError::Permanent)?;
        let headers = header_map(&self.headers).map_err(ConnectError::Permanent)?;
        if self.sse {
            let serving = async {
                let headers = headers.into_iter().collect();
                let opened = SseTransport::open(client, self.url, headers, Arc::clone(self.fault)).await;
                let transport = opened
                    .map_err(|error| ClientInitializeError::transport::<SseTransport>(error, "opening"))?;
                handler.serve(transport).await
            };
            return Ok(tokio::time::timeout(self.deadline, serving).await);
        }
        let config =
            StreamableHttpClientTransportConfig::with_uri(self.url.to_owned()).custom_headers(headers);
        let transport = StreamableHttpClientTransport::with_client(client, config);
        Ok(tokio::time::timeout(self.deadline, handler.serve(transport)).await)
    }
}

fn header_map(headers: &[(String, String)]) -> Result<HashMap<HeaderName, HeaderValue>, String> {
    let header = |(name, value): &(String, String)| {
        let wrong = || format!("the header {} cannot be sent", agent::one_line(name));
        let mut value = HeaderValue::from_str(value).map_err(|_| wrong())?;
        value.set_sensitive(true);
        Ok((HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?, value))
    };
    headers.iter().map(header).collect()
}
