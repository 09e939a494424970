//! Connecting to a server, with a token where one is stored.

use super::{Client, child_process::ChildProcess};
use crate::{
    config::{Origin, ServerConfig, ServerTransport, without_query},
    connect_error::ConnectError,
    error_text,
    http::HttpTransport,
    limits::{CALL, CONNECT, ERROR_BYTES},
    locked::locked,
    oauth::{self, OAuthError},
    offered::Offered,
    options::McpOptions,
    progress::ProgressRegistry,
    reference,
    serve::OUR_NAME,
    server_requests::{RunningCalls, ServerRequests},
    stdio::{Fault, StdioTransport},
};
use agent::{Attached, ProjectPrograms, Redactor};
use rmcp::{
    RoleClient, ServiceExt as _,
    model::{
        ClientCapabilities, ClientConfig, ElicitationCapability, FormElicitationCapability, Implementation,
        RootsCapabilities, SamplingCapability,
    },
    service::RunningService,
};
use std::sync::Arc;
use std::time::Duration;
use system::{AbsPath, Confinement, PipedCommand, System};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Variables of this process that a server inherits, in addition to those of its description.
const INHERITED: [&str; 10] =
    ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TEMP", "TMP", "LANG", "LC_ALL"];

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
        programs: &ProjectPrograms,
        changed: Arc<Notify>,
    ) -> Result<Self, ConnectError> {
        let cwd = programs.cwd();
        let placed = server.in_directory(cwd.as_str());
        let resolved = reference::resolve(&placed, options.stores.values.as_ref()).await;
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
                if let Some(why) = &options.no_programs {
                    return Err(ConnectError::Permanent(why.clone()));
                }
                // The last value of a name wins, so a description cannot override these variables.
                let env = env.into_iter().chain(options.variables.clone()).collect();
                let inherit = INHERITED.map(str::to_owned).to_vec();
                let line =
                    std::iter::once(&command).chain(&args).map(String::as_str).collect::<Vec<_>>().join(" ");
                let (place, system, network) = place(server, &line, options, programs).await?;
                let deadline = deadline + network.as_ref().map_or(Duration::ZERO, |_| programs.ask_wait());
                let command = PipedCommand {
                    program: command,
                    args,
                    cwd: place,
                    inherit,
                    env,
                    error_limit: ERROR_BYTES,
                    confinement: Confinement::Session,
                    apart_from: vec![cwd.clone()],
                };
                let piped = system.spawn_piped(command).await;
                let piped = piped.map_err(|error| ConnectError::Permanent(error.to_string()))?;
                child.set(piped.process, network).await;
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
}

/// Returns the directory in which a server's program starts, and the system that starts it.
///
/// A project's server runs in the project and in its sandbox: it was trusted to run, and gets no
/// more of this machine than commands do. The returned value is kept while it runs. Another one
/// runs in a directory of its own, where nothing of the project decides what it is.
async fn place(
    server: &ServerConfig,
    line: &str,
    options: &McpOptions,
    programs: &ProjectPrograms,
) -> Result<(AbsPath, Arc<dyn System>, Option<Attached>), ConnectError> {
    if server.in_project || matches!(server.origin, Origin::Project(_)) {
        let (place, network) = programs.of_server(&server.name, line);
        return Ok((programs.cwd().clone(), place.on(Arc::clone(&options.system)).await, network));
    }
    let own = options.directory.join(&server.name);
    let made = options.system.create_own_directory(&own).await;
    made.map_err(|error| ConnectError::Permanent(format!("its directory cannot be made: {error}")))?;
    Ok((own, Arc::clone(&options.system), None))
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
