//! A connection to one server: deadlines for connecting and for every request, and cleanup of the
//! child process.

use crate::{
    config::{ServerConfig, ServerTransport, without_query},
    connect_error::ConnectError,
    error_text,
    http::HttpTransport,
    limits::{CALL, CLOSE, CONNECT, ERROR_BYTES, ERROR_CHARS, PAGES, PROMPTS, RESOURCES, TOOLS},
    listed::ListedTool,
    locked::locked,
    oauth::{self, OAuthError},
    offered::Offered,
    options::McpOptions,
    progress::{CallProgress, ProgressRegistry},
    reference,
    serve::OUR_NAME,
    server_requests::{CallGuard, RunningCalls, ServerRequests},
    stdio::{Fault, StdioTransport},
};
use agent::Redactor;
use rmcp::{
    Peer, RoleClient, ServiceError, ServiceExt as _,
    model::{
        CallToolRequest, CallToolRequestParams, CallToolResult, CancelledNotification,
        CancelledNotificationParam, ClientCapabilities, ClientConfig, ClientRequest, ElicitationCapability,
        FormElicitationCapability, GetPromptRequestParams, GetPromptResult, Implementation, JsonObject,
        PaginatedRequestParams, Prompt, ReadResourceRequestParams, RequestId, Resource, ResourceContents,
        ResourceTemplate, RootsCapabilities, SamplingCapability, ServerResult,
    },
    service::{PeerRequestOptions, RunningService},
};
use serde_json::Value;
use std::{sync::Arc, time::Duration};
use system::{AbsPath, Output, PipedCommand, Process};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Variables of this process that a server inherits, in addition to those of its description.
const INHERITED: [&str; 10] =
    ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TEMP", "TMP", "LANG", "LC_ALL"];

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

/// The server's child process, whose standard error is read when the connection ends.
#[derive(Clone, Default)]
struct ChildProcess(Arc<tokio::sync::Mutex<Option<Box<dyn Process>>>>);

impl Client {
    /// Connects to a server. `changed` is notified when the server reports that its tools or
    /// prompts have changed.
    ///
    /// Resolved references are registered as secrets before anything is started.
    ///
    /// # Errors
    ///
    /// [`ConnectError::Permanent`] if a retry would not help, [`ConnectError::SignInRequired`] if a
    /// retry needs another grant, [`ConnectError::Transient`] otherwise.
    pub async fn connect(
        server: &ServerConfig,
        options: &McpOptions,
        cwd: &AbsPath,
        changed: Arc<Notify>,
    ) -> Result<Self, ConnectError> {
        let resolved = reference::resolve(server, options.stores.values.as_ref()).await;
        let resolved = resolved.map_err(ConnectError::Permanent)?;
        options.redactor.learn(resolved.secrets);
        let fault = Fault::default();
        let child = ChildProcess::default();
        let deadline = server.timeout.unwrap_or(CONNECT);
        let us = Implementation::new(OUR_NAME, options.version.clone());
        let (running_calls, calls) = (RunningCalls::default(), ProgressRegistry::default());
        let handler = ServerRequests {
            server: server.name.clone(),
            info: ClientConfig::new(capabilities(&server.offered), us),
            changed,
            offered: server.offered.clone(),
            cwd: cwd.clone(),
            running_calls: running_calls.clone(),
            calls: calls.clone(),
            redactor: options.redactor.clone(),
        };
        let transport = resolved.transport.clone();
        let service = match resolved.transport {
            ServerTransport::Stdio { command, args, env } => {
                let inherit = INHERITED.map(str::to_owned).to_vec();
                let (program, cwd) = (command, cwd.clone());
                // The last value of a name wins, so a description cannot override these variables.
                let env = env.into_iter().chain(options.variables.clone()).collect();
                let command = PipedCommand { program, args, cwd, inherit, env, error_limit: ERROR_BYTES };
                let piped = options.system.spawn_piped(command).await;
                let piped = piped.map_err(|error| ConnectError::Permanent(error.to_string()))?;
                child.0.lock().await.replace(piped.process);
                let lines = StdioTransport::new(piped.input, piped.output, Arc::clone(&fault));
                tokio::time::timeout(deadline, handler.serve(lines)).await
            }
            ServerTransport::Http { url, headers, sse } => {
                let own = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
                let signed_in = if own { Ok(None) } else { oauth::bearer(options, &server.name, &url).await };
                let token =
                    signed_in.map_err(|error| renewal_failed(&options.redactor, &server.name, &error))?;
                let given = |token: &Option<String>| {
                    let bearer =
                        token.as_ref().map(|token| ("Authorization".to_owned(), format!("Bearer {token}")));
                    headers.iter().cloned().chain(bearer).collect::<Vec<_>>()
                };
                let http_transport = |token: &Option<String>| HttpTransport {
                    url: &url,
                    sse,
                    headers: given(token),
                    fault: &fault,
                    deadline,
                };
                let served = http_transport(&token).serve(options, handler.clone()).await?;
                match (served, token) {
                    // The token may have been revoked before it expired.
                    (Ok(Err(error)), Some(token)) if error_text::wants_sign_in(&error) => {
                        let renewed = oauth::renew(options, &server.name, &url, &token).await;
                        let renewed = renewed
                            .map_err(|error| renewal_failed(&options.redactor, &server.name, &error))?;
                        match renewed {
                            None => Ok(Err(error)),
                            some => http_transport(&some).serve(options, handler).await?,
                        }
                    }
                    (served, _) => served,
                }
            }
        };
        let service: RunningService<RoleClient, ServerRequests> = match service {
            Ok(Ok(service)) => service,
            Ok(Err(error)) if error_text::wants_sign_in(&error) => {
                let url = if let ServerTransport::Http { url, .. } = &transport {
                    without_query(url)
                } else {
                    "it"
                };
                return Err(sign_in_required(
                    &options.redactor,
                    &server.name,
                    &format!("{url} answered 401: it rejected the credentials, or requires some."),
                ));
            }
            Ok(Err(error)) => {
                let text = error_text::handshake_error(server, &transport, &error);
                // Record the fault first: the program exits because we disconnect, which is not the
                // cause.
                if error_text::has_response(&error) {
                    locked(&fault).get_or_insert_with(|| text.clone());
                }
                return Err(ConnectError::Transient(options.redactor.redact(&child.why(&fault, text).await)));
            }
            Err(_) => {
                // Record the fault before asking for the reason: the program exits because its
                // input ends, which is not the cause.
                let text = match &transport {
                    ServerTransport::Http { url, .. } => format!(
                        "{} could not be used: timed out after {}s. Start it, correct its `url`, or give it a longer `timeout`.",
                        without_query(url),
                        deadline.as_secs_f64()
                    ),
                    ServerTransport::Stdio { .. } => format!("timed out after {}s.", deadline.as_secs_f64()),
                };
                locked(&fault).get_or_insert(text);
                let why = child.why(&fault, String::new()).await;
                return Err(ConnectError::Transient(options.redactor.redact(&why)));
            }
        };
        let server_info = service.peer().peer_info().and_then(|info| serde_json::to_value(&*info).ok());
        let server_info = server_info.unwrap_or_default();
        let has = server_info["capabilities"].as_object().map(|has| has.keys().cloned().collect());
        let client = Self {
            peer: service.peer().clone(),
            call_timeout: server.timeout.unwrap_or(CALL),
            request_timeout: deadline,
            stop: CancellationToken::new(),
            ended: CancellationToken::new(),
            fault,
            child,
            running_calls,
            calls,
            server: ServerConfig { transport, ..server.clone() },
            name: server_info["serverInfo"]["name"].as_str().unwrap_or_default().to_owned(),
            has: has.unwrap_or_default(),
        };
        let (stop, ended) = (client.stop.clone(), client.ended.clone());
        tokio::spawn(async move {
            tokio::select! {
                _ = service.waiting() => {}
                () = stop.cancelled() => {}
            }
            ended.cancel();
        });
        Ok(client)
    }

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
            if let Some(mut process) = self.child.0.lock().await.take() {
                process.kill().await;
            }
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

/// Pagination of one list, up to a number of items.
struct Pages<T> {
    all: Vec<T>,
    limit: usize,
    requested: usize,
    /// The cursor of the next page; the first request has none.
    cursor: Option<String>,
}

impl<T> Pages<T> {
    fn up_to(limit: usize) -> Self {
        Self { all: Vec::new(), limit, requested: 0, cursor: None }
    }

    /// Returns the parameters of the next request; `None` when the list is complete, long enough,
    /// or `PAGES` were requested.
    fn next(&mut self) -> Option<PaginatedRequestParams> {
        let wanted = self.requested == 0 || (self.cursor.is_some() && self.all.len() < self.limit);
        if !wanted || self.requested == PAGES {
            return None;
        }
        self.requested += 1;
        Some(PaginatedRequestParams::default().with_cursor(self.cursor.take()))
    }

    fn add(&mut self, page: impl IntoIterator<Item = T>, cursor: Option<String>) {
        self.all.extend(page);
        self.cursor = cursor;
    }

    fn all(mut self) -> Vec<T> {
        self.all.truncate(self.limit);
        self.all
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl ChildProcess {
    /// Returns why the connection ended: the fault on the wire or else `text`, followed by the end
    /// of the program's standard error.
    async fn why(&self, fault: &Fault, text: String) -> String {
        let mut process = self.0.lock().await;
        let known = locked(fault).clone();
        let Some(process) = process.as_mut() else { return known.unwrap_or(text) };
        let mut stderr = String::new();
        let mut exited = false;
        let gathering = async {
            while let Some(output) = process.next_output().await {
                if let Output::Text(text) = output {
                    stderr.push_str(&text);
                }
            }
            exited = true;
        };
        // A program that still runs writes no more for now.
        let _ = tokio::time::timeout(Duration::from_millis(200), gathering).await;
        let stderr = stderr.trim();
        let start = stderr.char_indices().rev().nth(ERROR_CHARS - 1).map_or(0, |(at, _)| at);
        let stderr = agent::one_line(&agent::sanitise(&stderr[start..]));
        let text = match known {
            Some(known) => known,
            None if exited => "exited before responding.".to_owned(),
            None => text,
        };
        let text = if stderr.is_empty() { text } else { format!("{text} Stderr: {stderr}") };
        if exited {
            // The output can be read only once, and every pending call asks for the reason.
            *locked(fault) = Some(text.clone());
        }
        text
    }
}

fn capabilities(offered: &[Offered]) -> ClientCapabilities {
    let mut capabilities = ClientCapabilities::default();
    for offer in offered {
        match offer {
            Offered::Roots => capabilities.roots = Some(RootsCapabilities::default()),
            Offered::Elicitation => {
                let form = ElicitationCapability::new().with_form(FormElicitationCapability::default());
                capabilities.elicitation = Some(form);
            }
            Offered::Sampling => capabilities.sampling = Some(SamplingCapability::default()),
        }
    }
    capabilities
}

/// Returns the error for a server that requires a sign-in.
fn sign_in_required(redactor: &Redactor, server: &str, why: &str) -> ConnectError {
    ConnectError::SignInRequired(redactor.redact(&format!("{why} {}", oauth::sign_in(server))))
}

/// Returns the error for a token that could not be renewed.
fn renewal_failed(redactor: &Redactor, server: &str, error: &OAuthError) -> ConnectError {
    match error.needs_sign_in() {
        true => sign_in_required(redactor, server, &format!("{error}.")),
        false => ConnectError::Transient(redactor.redact(&error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_endpoint_that_is_busy_is_tried_again() {
        for (status, is_final) in [(400, true), (401, true), (408, false), (429, false), (503, false)] {
            let message = format!("h refused ({status}): no reason given");
            let refused = OAuthError::Refused { status, message: message.clone() };
            match renewal_failed(&Redactor::default(), "s", &refused) {
                ConnectError::Transient(why) => assert!(!is_final && why == message, "{why}"),
                ConnectError::SignInRequired(why) => {
                    let expected = format!("{message}. It requires a sign-in: run `tiller mcp login s`");
                    assert!(is_final && why.starts_with(&expected), "{why}");
                }
                ConnectError::Permanent(why) => panic!("{status}: {why}"),
            }
        }
    }
}
