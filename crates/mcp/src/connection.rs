//! A connection to one server: deadlines for connecting and for every request, and cleanup of the
//! child process.

use crate::{
    config::{How, ServerConfig, without_query},
    http::Over,
    limits::{CALL, CLOSE, CONNECT, ERROR_BYTES, ERROR_CHARS, PAGES, PROMPTS, RESOURCES, TOOLS},
    lines::{Fault, Lines},
    listed::Listed,
    listener::{Askers, Asking, Listener, Offered},
    oauth,
    progress::{Calls, Talk},
    provider::McpOptions,
    reference,
    serve::OUR_NAME,
    trouble,
};
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
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use system::{AbsPath, Output, PipedCommand, Process};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Variables of this process that a server inherits, in addition to those of its description.
const INHERITED: [&str; 10] =
    ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TEMP", "TMP", "LANG", "LC_ALL"];

/// The reason why there is no connection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// A retry would not help: something is missing or wrong in the description.
    #[error("{0}")]
    Hopeless(String),
    /// The server failed this time; a retry may succeed.
    #[error("{0}")]
    Failed(String),
}

/// A connected server. Dropping it ends the connection and the server's child process.
pub struct Client {
    peer: Peer<RoleClient>,
    call_timeout: Duration,
    request_timeout: Duration,
    stop: CancellationToken,
    gone: CancellationToken,
    fault: Fault,
    errors: Errors,
    askers: Askers,
    calls: Calls,
    /// The description, with references in its URL resolved.
    server: ServerConfig,
    name: String,
    /// The names of the capabilities that the server advertises: `tools`, `resources`, `prompts`.
    has: Vec<String>,
}

/// The server's child process, whose standard error is read when the connection ends.
#[derive(Clone, Default)]
struct Errors(Arc<tokio::sync::Mutex<Option<Box<dyn Process>>>>);

impl Client {
    /// Connects to a server. `changed` is notified when the server reports that its tools or
    /// prompts have changed.
    ///
    /// Resolved references are registered as secrets before anything is started.
    ///
    /// # Errors
    ///
    /// [`ConnectError::Hopeless`] if a retry would not help, [`ConnectError::Failed`] otherwise.
    pub async fn connect(
        server: &ServerConfig,
        options: &McpOptions,
        cwd: &AbsPath,
        changed: Arc<Notify>,
    ) -> Result<Self, ConnectError> {
        let resolved = reference::resolve(server, options.values.as_ref()).await;
        let resolved = resolved.map_err(ConnectError::Hopeless)?;
        options.redactor.learn(resolved.secrets);
        let fault = Fault::default();
        let errors = Errors::default();
        let deadline = server.timeout.unwrap_or(CONNECT);
        let us = Implementation::new(OUR_NAME, options.version.clone());
        let (askers, calls) = (Askers::default(), Calls::default());
        let listener = Listener {
            server: server.name.clone(),
            info: ClientConfig::new(capabilities(&server.offered), us),
            changed,
            offered: server.offered.clone(),
            cwd: cwd.clone(),
            askers: askers.clone(),
            calls: calls.clone(),
            redactor: options.redactor.clone(),
        };
        let how = resolved.how.clone();
        let service = match resolved.how {
            How::Stdio { command, args, env } => {
                let inherit = INHERITED.map(str::to_owned).to_vec();
                let (program, cwd) = (command, cwd.clone());
                // The last value of a name wins, so a description cannot override these variables.
                let env = env.into_iter().chain(options.variables.clone()).collect();
                let command = PipedCommand { program, args, cwd, inherit, env, error_limit: ERROR_BYTES };
                let piped = options.system.spawn_piped(command).await;
                let piped = piped.map_err(|error| ConnectError::Hopeless(error.to_string()))?;
                errors.0.lock().await.replace(piped.process);
                let lines = Lines::new(piped.input, piped.output, Arc::clone(&fault));
                tokio::time::timeout(deadline, listener.serve(lines)).await
            }
            How::Http { url, headers, sse } => {
                let own = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
                let signed_in = if own { Ok(None) } else { oauth::bearer(options, &server.name, &url).await };
                let token = signed_in.map_err(|why| not_renewed(options, server, &why))?;
                let given = |token: &Option<String>| {
                    let bearer =
                        token.as_ref().map(|token| ("Authorization".to_owned(), format!("Bearer {token}")));
                    headers.iter().cloned().chain(bearer).collect::<Vec<_>>()
                };
                let over = |token: &Option<String>| Over {
                    url: &url,
                    sse,
                    headers: given(token),
                    fault: &fault,
                    deadline,
                };
                let served = over(&token).serve(options, listener.clone()).await?;
                match (served, token) {
                    // The token may have been revoked before it expired.
                    (Ok(Err(error)), Some(token)) if trouble::wants_sign_in(&error) => {
                        let renewed = oauth::renew(options, &server.name, &url, &token).await;
                        let renewed = renewed.map_err(|why| not_renewed(options, server, &why))?;
                        match renewed {
                            None => Ok(Err(error)),
                            some => over(&some).serve(options, listener).await?,
                        }
                    }
                    (served, _) => served,
                }
            }
        };
        let service: RunningService<RoleClient, Listener> = match service {
            Ok(Ok(service)) => service,
            Ok(Err(error)) if trouble::wants_sign_in(&error) => {
                let url = if let How::Http { url, .. } = &how { without_query(url) } else { "it" };
                return Err(refused(options, server, &format!("{url} answered 401 and does not let us in.")));
            }
            Ok(Err(error)) => {
                let text = trouble::of_start(server, &how, &error);
                // Record the fault first: the program exits because we disconnect, which is not the
                // cause.
                if trouble::is_answered(&error) {
                    locked(&fault).get_or_insert_with(|| text.clone());
                }
                return Err(ConnectError::Failed(options.redactor.redact(&errors.why(&fault, text).await)));
            }
            Err(_) => {
                // Record the fault before asking for the reason: the program exits because its
                // input ends, which is not the cause.
                let text = match &how {
                    How::Http { url, .. } => format!(
                        "{} could not be used: timed out after {}s. Start it, correct its `url`, or give it a longer `timeout`.",
                        without_query(url),
                        deadline.as_secs_f64()
                    ),
                    How::Stdio { .. } => format!("timed out after {}s.", deadline.as_secs_f64()),
                };
                locked(&fault).get_or_insert(text);
                let why = errors.why(&fault, String::new()).await;
                return Err(ConnectError::Failed(options.redactor.redact(&why)));
            }
        };
        let said = service.peer().peer_info().and_then(|info| serde_json::to_value(&*info).ok());
        let said = said.unwrap_or_default();
        let has = said["capabilities"].as_object().map(|has| has.keys().cloned().collect());
        let client = Self {
            peer: service.peer().clone(),
            call_timeout: server.timeout.unwrap_or(CALL),
            request_timeout: deadline,
            stop: CancellationToken::new(),
            gone: CancellationToken::new(),
            fault,
            errors,
            askers,
            calls,
            server: ServerConfig { how, ..server.clone() },
            name: said["serverInfo"]["name"].as_str().unwrap_or_default().to_owned(),
            has: has.unwrap_or_default(),
        };
        let (stop, gone) = (client.stop.clone(), client.gone.clone());
        tokio::spawn(async move {
            tokio::select! {
                _ = service.waiting() => {}
                () = stop.cancelled() => {}
            }
            gone.cancel();
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
    pub(crate) fn is_gone(&self) -> bool {
        self.gone.is_cancelled()
    }

    /// Registers a call: until the returned guard is dropped, the server may ask the user or the
    /// model about it, as far as these are offered.
    pub(crate) fn asking(&self, cx: &agent::ToolContext) -> Asking {
        self.askers.during(cx)
    }

    /// Waits until the connection has ended.
    pub async fn ended(&self) {
        self.gone.cancelled().await;
    }

    /// Returns why the connection ended, as text for people.
    pub async fn why(&self) -> String {
        self.errors.why(&self.fault, "it ended".to_owned()).await
    }

    /// Lists the server's tools, at most `TOOLS`.
    pub async fn tools(&self) -> Result<Vec<Listed>, String> {
        let mut pages = Pages::up_to(TOOLS);
        while let Some(params) = pages.next() {
            let list = self.within(self.request_timeout, self.peer.list_tools(Some(params))).await?;
            pages.add(list.tools.into_iter().map(Listed::from), list.next_cursor);
        }
        Ok(pages.all())
    }

    /// Lists the server's resources, at most `RESOURCES`.
    pub async fn resources(&self) -> Result<Vec<Resource>, String> {
        let mut pages = Pages::up_to(RESOURCES);
        while let Some(params) = pages.next() {
            let list = self.within(self.request_timeout, self.peer.list_resources(Some(params))).await?;
            pages.add(list.resources, list.next_cursor);
        }
        Ok(pages.all())
    }

    /// Lists the server's resource templates, at most `RESOURCES`.
    pub async fn templates(&self) -> Result<Vec<ResourceTemplate>, String> {
        let mut pages = Pages::up_to(RESOURCES);
        while let Some(params) = pages.next() {
            let list =
                self.within(self.request_timeout, self.peer.list_resource_templates(Some(params))).await?;
            pages.add(list.resource_templates, list.next_cursor);
        }
        Ok(pages.all())
    }

    /// Returns the contents of a resource.
    pub async fn read(&self, uri: &str) -> Result<Vec<ResourceContents>, String> {
        let params = ReadResourceRequestParams::new(uri);
        Ok(self.within(self.call_timeout, self.peer.read_resource(params)).await?.contents)
    }

    /// Lists the server's prompts, at most `PROMPTS`.
    pub async fn prompts(&self) -> Result<Vec<Prompt>, String> {
        let mut pages = Pages::up_to(PROMPTS);
        while let Some(params) = pages.next() {
            let list = self.within(self.request_timeout, self.peer.list_prompts(Some(params))).await?;
            pages.add(list.prompts, list.next_cursor);
        }
        Ok(pages.all())
    }

    /// Returns a prompt with its arguments filled in.
    pub async fn prompt(&self, name: &str, arguments: JsonObject) -> Result<GetPromptResult, String> {
        let params = GetPromptRequestParams::new(name).with_arguments(arguments);
        self.within(self.request_timeout, self.peer.get_prompt(params)).await
    }

    /// Calls a tool. Dropping the future sends a cancellation to the server.
    pub async fn call(&self, tool: &str, arguments: Value) -> Result<CallToolResult, String> {
        self.call_showing(tool, arguments, &|_| {}).await
    }

    /// Calls a tool and passes its progress and log lines to `show`, each time the complete text so
    /// far.
    pub async fn call_showing(
        &self,
        tool: &str,
        arguments: Value,
        show: &(dyn Fn(String) + Send + Sync),
    ) -> Result<CallToolResult, String> {
        let mut params = CallToolRequestParams::new(tool.to_owned());
        if let Value::Object(arguments) = arguments {
            params = params.with_arguments(arguments);
        }
        let talk = self.calls.begin();
        let over = self.askers.spent(self.call_timeout, talk.heard());
        tokio::select! {
            biased;
            answered = self.until(over, self.requested(params, &talk)) => answered,
            () = talk.show(show) => Err(self.why().await),
        }
    }

    async fn requested(
        &self,
        params: CallToolRequestParams,
        talk: &Talk,
    ) -> Result<CallToolResult, ServiceError> {
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let handle = self.peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await?;
        talk.is_named(handle.progress_token.clone());
        let mut abandoned = Abandoned { peer: self.peer.clone(), id: Some(handle.id.clone()) };
        let answer = handle.await_response().await;
        abandoned.id = None;
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
            self.gone.cancelled().await;
            if let Some(mut process) = self.errors.0.lock().await.take() {
                process.kill().await;
            }
        };
        if tokio::time::timeout(CLOSE, closing).await.is_err() {
            tracing::debug!("an MCP server did not end in time");
        }
    }

    async fn within<T>(
        &self,
        deadline: Duration,
        request: impl Future<Output = Result<T, ServiceError>>,
    ) -> Result<T, String> {
        let over = async {
            tokio::time::sleep(deadline).await;
            deadline
        };
        self.until(over, request).await
    }

    /// Awaits a response until `over` completes, which returns the exceeded limit for the message.
    async fn until<T>(
        &self,
        over: impl Future<Output = Duration>,
        request: impl Future<Output = Result<T, ServiceError>>,
    ) -> Result<T, String> {
        let answered = tokio::select! {
            biased;
            answered = request => answered,
            after = over => return Err(format!("timed out after {}s.", after.as_secs_f64())),
            () = self.gone.cancelled() => return Err(self.why().await),
        };
        match answered {
            Ok(answer) => Ok(answer),
            Err(ServiceError::McpError(error)) => Err(error.message.into_owned()),
            Err(ServiceError::UnexpectedResponse) => {
                Err("it answered with something that is no answer".to_owned())
            }
            Err(ServiceError::TransportClosed | ServiceError::Cancelled { .. }) => {
                // Mark the connection as ended, so that the next caller sees it.
                self.stop.cancel();
                self.gone.cancelled().await;
                Err(self.why().await)
            }
            Err(error) if trouble::lost_sign_in(&error) => {
                // The keeper of the server reconnects, with a new token if there is one.
                locked(&self.fault).get_or_insert_with(|| "it no longer lets us in.".to_owned());
                self.stop.cancel();
                self.gone.cancelled().await;
                Err("it no longer lets us in; try again".to_owned())
            }
            Err(error) => Err(trouble::of_request(&self.server, &error)),
        }
    }
}

/// Sends a cancellation for its request when it is dropped with one.
struct Abandoned {
    peer: Peer<RoleClient>,
    id: Option<RequestId>,
}

impl Drop for Abandoned {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let reason = Some("nobody waits for it any more".to_owned());
        let news = CancelledNotification::new(CancelledNotificationParam::new(Some(id), reason));
        let peer = self.peer.clone();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            // The peer may be gone already, which has the same effect.
            runtime.spawn(async move { drop(peer.send_notification(news.into()).await) });
        }
    }
}

/// Pagination of one list, up to a number of items.
struct Pages<T> {
    all: Vec<T>,
    most: usize,
    asked: usize,
    /// The cursor of the next page; the first request has none.
    cursor: Option<String>,
}

impl<T> Pages<T> {
    fn up_to(most: usize) -> Self {
        Self { all: Vec::new(), most, asked: 0, cursor: None }
    }

    /// Returns the parameters of the next request; `None` when the list is complete, long enough,
    /// or `PAGES` were requested.
    fn next(&mut self) -> Option<PaginatedRequestParams> {
        let wanted = self.asked == 0 || (self.cursor.is_some() && self.all.len() < self.most);
        if !wanted || self.asked == PAGES {
            return None;
        }
        self.asked += 1;
        Some(PaginatedRequestParams::default().with_cursor(self.cursor.take()))
    }

    fn add(&mut self, page: impl IntoIterator<Item = T>, cursor: Option<String>) {
        self.all.extend(page);
        self.cursor = cursor;
    }

    fn all(mut self) -> Vec<T> {
        self.all.truncate(self.most);
        self.all
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Errors {
    /// Returns why the connection ended: the fault on the wire or else `text`, followed by the end
    /// of the program's standard error.
    async fn why(&self, fault: &Fault, text: String) -> String {
        let mut process = self.0.lock().await;
        let known = locked(fault).clone();
        let Some(process) = process.as_mut() else { return known.unwrap_or(text) };
        let mut said = String::new();
        let mut over = false;
        let gathering = async {
            while let Some(output) = process.next_output().await {
                if let Output::Text(text) = output {
                    said.push_str(&text);
                }
            }
            over = true;
        };
        // A program that still runs writes no more for now.
        let _ = tokio::time::timeout(Duration::from_millis(200), gathering).await;
        let said = said.trim();
        let start = said.char_indices().rev().nth(ERROR_CHARS - 1).map_or(0, |(at, _)| at);
        let said = agent::one_line(&agent::sanitise(&said[start..]));
        let text = match known {
            Some(known) => known,
            None if over => "exited before responding.".to_owned(),
            None => text,
        };
        let text = if said.is_empty() { text } else { format!("{text} Stderr: {said}") };
        if over {
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

/// Returns the error for a server that requires a sign-in, which a retry would not change.
fn refused(options: &McpOptions, server: &ServerConfig, why: &str) -> ConnectError {
    ConnectError::Hopeless(options.redactor.redact(&format!("{why} {}", oauth::sign_in(&server.name))))
}

/// Returns the error for a token that could not be renewed. A refusal is final; a server that did
/// not answer may answer a retry.
fn not_renewed(options: &McpOptions, server: &ServerConfig, why: &str) -> ConnectError {
    match why.contains(" refused (4") {
        true => refused(options, server, &format!("{why}.")),
        false => ConnectError::Failed(options.redactor.redact(why)),
    }
}

/// Locks a mutex, ignoring poisoning.
pub(crate) fn locked<T>(lock: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
