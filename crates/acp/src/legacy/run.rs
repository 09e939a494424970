//! The runs of a connection. Each run is a prompt in a new session, or in the session of its
//! conversation if the client names the conversation again.

use super::{changes::Snapshot, client::RunClient, message::Outgoing, output_queue::OutputQueue};
use crate::{AcpOptions, limits::LEGACY_CONVERSATIONS};
use agent::{Content, CreateSession, OpenSession, Runtime, SessionHandle, SessionId, StopReason, Surface};
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};
use std::{
    borrow::Cow,
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Poll,
};
use system::{AbsPath, FileKind};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// The state of a connection in this dialect.
pub(super) struct LegacyConnection {
    runtime: Arc<Runtime>,
    pub(super) options: AcpOptions,
    out: OutputQueue,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The first workspace folder that the client named.
    directory: Option<String>,
    runs: JoinSet<()>,
    /// The cancellation token of each run, with its conversation.
    running: Vec<(String, CancellationToken)>,
    /// The session of each conversation, locked during a run, so that a second run waits for the
    /// first.
    conversations: HashMap<String, Arc<tokio::sync::Mutex<Option<SessionId>>>>,
}

impl State {
    /// Returns the session of a conversation, to be locked during a run.
    fn conversation(&mut self, name: &str) -> Arc<tokio::sync::Mutex<Option<SessionId>>> {
        if self.conversations.len() >= LEGACY_CONVERSATIONS {
            self.conversations.retain(|_, session| Arc::strong_count(session) > 1);
        }
        self.conversations.entry(name.to_owned()).or_default().clone()
    }
}

/// A prompt to run.
pub(super) struct Run {
    prompt: String,
    /// The directory that the client named, if any.
    root: Option<String>,
    conversation: String,
    /// Whether the client named the conversation.
    named: bool,
}

impl Run {
    /// Parses the parameters of `agent/run`.
    pub(super) fn decode(id: Option<&Value>, params: &Value) -> Result<Self, String> {
        let text = |key: &str| params[key].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let prompt = text("prompt").ok_or("Missing string param: prompt")?;
        let (conversation, named) = match (text("conversationId"), id) {
            (Some(named), _) => (named, true),
            (None, Some(Value::String(id))) => (id.clone(), false),
            (None, Some(id)) => (id.to_string(), false),
            (None, None) => (String::new(), false),
        };
        Ok(Self { prompt, root: text("workspaceRoot"), conversation, named })
    }

    /// Returns the directory to work in: the named one, relative to the program's working
    /// directory; else the client's first workspace folder; else the program's working directory.
    fn directory(&self, connection: &LegacyConnection) -> Result<AbsPath, String> {
        let start = &connection.options.default_cwd;
        let given = self.root.clone().or_else(|| connection.state().directory.clone());
        let Some(given) = given else { return Ok(start.clone()) };
        let path = match given.strip_prefix("file://") {
            Some(path) => decoded(path).ok_or_else(|| format!("workspaceRoot is not a path: {given:?}"))?,
            None => given,
        };
        match path.contains('\0') {
            true => Err(format!("workspaceRoot is not a path: {path:?}; send another")),
            false => Ok(start.join(&path)),
        }
    }
}

impl LegacyConnection {
    pub(super) fn new(runtime: Arc<Runtime>, options: AcpOptions, out: OutputQueue) -> Self {
        Self { runtime, options, out, state: Mutex::default() }
    }

    /// Handles `initialize`: stores the client's first workspace folder, the default directory of
    /// runs.
    pub(super) fn on_initialize(&self, params: &Value) {
        let uri = params.pointer("/workspaceFolders/0/uri").and_then(Value::as_str);
        let path = uri.and_then(|uri| uri.strip_prefix("file://")).and_then(decoded);
        self.state().directory = path;
    }

    /// Sends a message.
    pub(super) fn send(&self, message: &impl serde::Serialize) {
        if let Ok(line) = serde_json::to_string(message) {
            self.out.send(line);
        }
    }

    /// Starts a run; its request is answered when the run has ended.
    pub(super) fn start(self: &Arc<Self>, run: Run, id: Option<Value>) {
        let cancel = CancellationToken::new();
        let connection = Arc::clone(self);
        let mut state = self.state();
        state.running.retain(|(_, cancel)| !cancel.is_cancelled());
        state.running.push((run.conversation.clone(), cancel.clone()));
        while state.runs.try_join_next().is_some() {}
        state.runs.spawn(async move {
            tracing::debug!(conversation = %run.conversation, "a run begins");
            let ended = connection.run(run, &cancel).await;
            tracing::debug!(?ended, "a run has ended");
            // From here on there is nothing to cancel.
            cancel.cancel();
            let Some(id) = id else { return };
            match ended {
                Ok(StopReason::Cancelled) => {
                    connection.send(&Outgoing::result(id, &json!({ "cancelled": true })));
                }
                Ok(_) => connection.send(&Outgoing::result(id, &json!({ "done": true }))),
                Err(message) => connection.send(&Outgoing::<Value>::error(id, -32000, message)),
            }
        });
    }

    /// Cancels the runs of a conversation; an unknown one is no error.
    pub(super) fn cancel(&self, conversation: &str) {
        self.state()
            .running
            .iter()
            .filter(|(known, _)| known == conversation)
            .for_each(|(_, run)| run.cancel());
    }

    /// Waits until all runs have ended.
    pub(super) async fn all_finished(&self) {
        std::future::poll_fn(|cx| {
            let mut state = self.state();
            loop {
                match state.runs.poll_join_next(cx) {
                    Poll::Ready(Some(_ended)) => {}
                    Poll::Ready(None) => return Poll::Ready(()),
                    Poll::Pending => return Poll::Pending,
                }
            }
        })
        .await;
    }

    /// Cancels all runs and waits until they have ended.
    pub(super) async fn settle(&self) {
        let mut runs = {
            let mut state = self.state();
            state.running.iter().for_each(|(_, run)| run.cancel());
            std::mem::take(&mut state.runs)
        };
        while runs.join_next().await.is_some() {}
    }

    async fn run(&self, run: Run, cancel: &CancellationToken) -> Result<StopReason, String> {
        let cwd = run.directory(self)?;
        // First: what is outside of the folder may not be found out by the other answers.
        if let Some(folder) = self.options.machines.folder_left_by(&cwd).await {
            return Err(format!(
                "workspaceRoot must lie below {folder}, your folder on this server, not at {cwd}"
            ));
        }
        match self.options.machines.local.metadata(&cwd).await {
            Ok(metadata) if metadata.kind == FileKind::Directory => {}
            Ok(_) => return Err(format!("workspaceRoot is not a directory: {cwd}; send one that is")),
            Err(error) => return Err(format!("workspaceRoot cannot be used: {error}; send another")),
        }
        let conversation = self.state().conversation(&run.conversation);
        let Some(mut session) = cancel.run_until_cancelled(conversation.lock()).await else {
            return Ok(StopReason::Cancelled);
        };
        let before = Snapshot::take(self.options.machines.local.clone(), cwd.clone()).await;
        let settings = self.runtime.settings_in(&cwd).await.map_err(|error| error.to_string())?;
        let mode = settings.start.permission_mode;
        let client = Arc::new(RunClient::new(run.conversation.clone(), mode, self.out.clone()));
        let surface = Surface { client: client.clone(), system: self.options.machines.local.clone() };
        let handle = self.session(&run, session.as_ref(), cwd, surface).await?;
        *session = Some(handle.id().clone());
        let mut turn = handle.start(vec![Content::text(run.prompt)]);
        let ended = tokio::select! {
            ended = turn.settled() => Some(ended),
            () = cancel.cancelled() => None,
        };
        let ended = match ended {
            Some(ended) => ended,
            None => {
                handle.cancel();
                turn.settled().await
            }
        };
        handle.close().await;
        for (path, text) in before.changed().await {
            client.changed(&path, &text);
        }
        ended.map(|outcome| outcome.stop_reason).map_err(|error| error.to_string())
    }

    /// Opens the session of a run: that of its conversation, if the client named the conversation
    /// and no different directory; otherwise a new session.
    async fn session(
        &self,
        run: &Run,
        last: Option<&SessionId>,
        cwd: AbsPath,
        surface: Surface,
    ) -> Result<SessionHandle, String> {
        if let Some(last) = last.filter(|_| run.named)
            && let Ok(record) = self.runtime.record(last).await
            && (run.root.is_none() || record.cwd == cwd)
        {
            let opened = self.runtime.open(last, OpenSession::default(), |_id| surface).await;
            return opened.map_err(|error| error.to_string());
        }
        let new = CreateSession { cwd, additional_directories: Vec::new(), servers: Vec::new() };
        self.runtime.create(new, |_id| surface).await.map_err(|error| error.to_string())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Decodes a percent-encoded path; `None` if it is not UTF-8.
fn decoded(path: &str) -> Option<String> {
    percent_decode_str(path).decode_utf8().ok().map(Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_conversations_are_dropped_beyond_the_limit() {
        let mut state = State::default();
        let held = state.conversation("held");
        for number in 0..3 * LEGACY_CONVERSATIONS {
            state.conversation(&number.to_string());
            assert!(state.conversations.len() <= LEGACY_CONVERSATIONS);
        }
        assert!(Arc::ptr_eq(&held, &state.conversation("held")), "a second run waits for the first");
    }

    #[test]
    fn percent_encoded_paths_are_decoded() {
        for (given, expected) in
            [("/w/a%20b", Some("/w/a b")), ("/%C3%BC", Some("/ü")), ("/100%", Some("/100%")), ("/%FF", None)]
        {
            assert_eq!(decoded(given).as_deref(), expected, "{given}");
        }
    }
}
