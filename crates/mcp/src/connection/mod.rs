//! A connection to one server: requests with deadlines, and cleanup of the child process.

mod child_process;
mod connect;
mod pages;

use crate::{
    config::ServerConfig,
    error_text,
    limits::{CLOSE, PROMPTS, RESOURCES, TOOLS},
    listed::ListedTool,
    locked::locked,
    progress::{CallProgress, ProgressRegistry},
    server_requests::{CallGuard, RunningCalls},
    stdio::Fault,
};
use child_process::ChildProcess;
use pages::Pages;
use rmcp::{
    Peer, RoleClient, ServiceError,
    model::{
        CallToolRequest, CallToolRequestParams, CallToolResult, CancelledNotification,
        CancelledNotificationParam, ClientRequest, GetPromptRequestParams, GetPromptResult, JsonObject,
        Prompt, ReadResourceRequestParams, RequestId, Resource, ResourceContents, ResourceTemplate,
        ServerResult,
    },
    service::PeerRequestOptions,
};
use serde_json::Value;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// A connected server. Dropping it ends the connection and the server's child process.
pub struct Client {
    peer: Peer<RoleClient>,
    call_timeout: Duration,
    request_timeout: Duration,
    stop: CancellationToken,
    ended: CancellationToken,
    fault: Fault,
    child: ChildProcess,
    running_calls: RunningCalls,
    calls: ProgressRegistry,
    /// The description, with references in its URL resolved.
    server: ServerConfig,
    name: String,
    /// The names of the capabilities that the server advertises: `tools`, `resources`, `prompts`.
    has: Vec<String>,
}

impl Client {
    /// Returns the name by which the server identifies itself.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether the server advertises `tools`, `resources` or `prompts`.
    pub fn has(&self, what: &str) -> bool {
        self.has.iter().any(|has| has == what)
    }

    /// Returns whether the connection has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.is_cancelled()
    }

    /// Registers a call: until the returned guard is dropped, the server may ask the user or the
    /// model about it, as far as these are offered.
    pub(crate) fn register_call(&self, cx: &agent::ToolContext) -> CallGuard {
        self.running_calls.register(cx)
    }

    /// Waits until the connection has ended.
    pub async fn ended(&self) {
        self.ended.cancelled().await;
    }

    /// Returns why the connection ended, as text for people.
    pub async fn why(&self) -> String {
        self.child.why(&self.fault, "it ended".to_owned()).await
    }

    /// Lists the server's tools, at most `TOOLS`.
    pub async fn tools(&self) -> Result<Vec<ListedTool>, String> {
        let mut pages = Pages::up_to(TOOLS);
        while let Some(params) = pages.next() {
            let list = self.with_deadline(self.request_timeout, self.peer.list_tools(Some(params))).await?;
            pages.add(list.tools.into_iter().map(ListedTool::from), list.next_cursor);
        }
        Ok(pages.all())
    }

    /// Lists the server's resources, at most `RESOURCES`.
    pub async fn resources(&self) -> Result<Vec<Resource>, String> {
        let mut pages = Pages::up_to(RESOURCES);
        while let Some(params) = pages.next() {
            let list =
                self.with_deadline(self.request_timeout, self.peer.list_resources(Some(params))).await?;
            pages.add(list.resources, list.next_cursor);
        }
        Ok(pages.all())
    }

    /// Lists the server's resource templates, at most `RESOURCES`.
    pub async fn templates(&self) -> Result<Vec<ResourceTemplate>, String> {
        let mut pages = Pages::up_to(RESOURCES);
        while let Some(params) = pages.next() {
            let list = self
                .with_deadline(self.request_timeout, self.peer.list_resource_templates(Some(params)))
                .await?;
            pages.add(list.resource_templates, list.next_cursor);
        }
        Ok(pages.all())
    }

    /// Returns the contents of a resource.
    pub async fn read(&self, uri: &str) -> Result<Vec<ResourceContents>, String> {
        let params = ReadResourceRequestParams::new(uri);
        Ok(self.with_deadline(self.call_timeout, self.peer.read_resource(params)).await?.contents)
    }

    /// Lists the server's prompts, at most `PROMPTS`.
    pub async fn prompts(&self) -> Result<Vec<Prompt>, String> {
        let mut pages = Pages::up_to(PROMPTS);
        while let Some(params) = pages.next() {
            let list = self.with_deadline(self.request_timeout, self.peer.list_prompts(Some(params))).await?;
            pages.add(list.prompts, list.next_cursor);
        }
        Ok(pages.all())
    }

    /// Returns a prompt with its arguments filled in.
    pub async fn prompt(&self, name: &str, arguments: JsonObject) -> Result<GetPromptResult, String> {
        let params = GetPromptRequestParams::new(name).with_arguments(arguments);
        self.with_deadline(self.request_timeout, self.peer.get_prompt(params)).await
    }

    /// Calls a tool. Dropping the future sends a cancellation to the server.
    pub async fn call(&self, tool: &str, arguments: Value) -> Result<CallToolResult, String> {
        self.call_with_progress(tool, arguments, &|_| {}).await
    }

    /// Calls a tool and passes its progress and log lines to `show`, each time the complete text so
    /// far.
    pub async fn call_with_progress(
        &self,
        tool: &str,
        arguments: Value,
        show: &(dyn Fn(String) + Send + Sync),
    ) -> Result<CallToolResult, String> {
        let mut params = CallToolRequestParams::new(tool.to_owned());
        if let Value::Object(arguments) = arguments {
            params = params.with_arguments(arguments);
        }
        let progress = self.calls.begin();
        let deadline_passed = self.running_calls.expired(self.call_timeout, progress.subscribe());
        tokio::select! {
            biased;
            answered = self.await_response(deadline_passed, self.send_call(params, &progress)) => answered,
            () = progress.show(show) => Err(self.why().await),
        }
    }

    async fn send_call(
        &self,
        params: CallToolRequestParams,
        progress: &CallProgress,
    ) -> Result<CallToolResult, ServiceError> {
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let handle = self.peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await?;
        progress.set_token(handle.progress_token.clone());
        let mut pending = CancelOnDrop { peer: self.peer.clone(), id: Some(handle.id.clone()) };
        let answer = handle.await_response().await;
        pending.id = None;
        match answer? {
            ServerResult::CallToolResult(result) => Ok(result),
            _ => Err(ServiceError::UnexpectedResponse),
        }
    }

    /// Ends the connection and the child process: first its input is closed, then it is signalled,
    /// then killed.
    pub async fn close(&self) {
        self.stop.cancel();
        let closing = async {
            self.ended.cancelled().await;
            self.child.kill().await;
        };
        if tokio::time::timeout(CLOSE, closing).await.is_err() {
            tracing::debug!("an MCP server did not end in time");
        }
    }

    async fn with_deadline<T>(
        &self,
        deadline: Duration,
        request: impl Future<Output = Result<T, ServiceError>>,
    ) -> Result<T, String> {
        let deadline_passed = async {
            tokio::time::sleep(deadline).await;
            deadline
        };
        self.await_response(deadline_passed, request).await
    }

    /// Awaits a response until `deadline_passed` completes, which returns the exceeded limit for
    /// the message.
    async fn await_response<T>(
        &self,
        deadline_passed: impl Future<Output = Duration>,
        request: impl Future<Output = Result<T, ServiceError>>,
    ) -> Result<T, String> {
        let answered = tokio::select! {
            biased;
            answered = request => answered,
            after = deadline_passed => return Err(format!("timed out after {}s.", after.as_secs_f64())),
            () = self.ended.cancelled() => return Err(self.why().await),
        };
        match answered {
            Ok(answer) => Ok(answer),
            Err(ServiceError::McpError(error)) => Err(error.message.into_owned()),
            Err(ServiceError::UnexpectedResponse) => {
                Err("its response to the request has the wrong type".to_owned())
            }
            Err(ServiceError::TransportClosed | ServiceError::Cancelled { .. }) => {
                // Mark the connection as ended, so that the next caller sees it.
                self.stop.cancel();
                self.ended.cancelled().await;
                Err(self.why().await)
            }
            Err(error) if error_text::is_sign_in_lost(&error) => {
                // The server's task reconnects, with a new token if there is one.
                locked(&self.fault).get_or_insert_with(|| "it no longer accepts the credentials.".to_owned());
                self.stop.cancel();
                self.ended.cancelled().await;
                Err("it no longer accepts the credentials; try again".to_owned())
            }
            Err(error) => Err(error_text::request_error(&self.server, &error)),
        }
    }
}

/// Sends a cancellation for its request when it is dropped with one.
struct CancelOnDrop {
    peer: Peer<RoleClient>,
    id: Option<RequestId>,
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let reason = Some("the call was abandoned".to_owned());
        let notification = CancelledNotification::new(CancelledNotificationParam::new(Some(id), reason));
        let peer = self.peer.clone();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            // The peer may be gone already, which has the same effect.
            runtime.spawn(async move { drop(peer.send_notification(notification.into()).await) });
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
