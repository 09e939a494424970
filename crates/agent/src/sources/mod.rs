//! The interface to external tools: MCP servers, scripts, integrations.
//!
//! A [`ToolProvider`] belongs to the runtime and opens a [`ToolSource`] for each session. The
//! session queries its sources before each request to the model, so tools can come and go while it
//! runs. Their tools pass the same gate as all others.

pub(crate) mod server;

use crate::{
    AnyTool, ClientServer, Content, ProjectPrograms, ReadableDirectories, SessionEvent, SessionId, Severity,
    SlashCommand, ToolCallUpdate, ToolStatus, limits::SOURCE_WAIT,
};
use async_trait::async_trait;
use futures::{
    FutureExt as _,
    future::{join_all, select_all},
};
use std::{collections::HashSet, panic::AssertUnwindSafe, sync::Arc};
use system::AbsPath;

/// Provides sessions with tools beside the built-in ones and those of their client.
pub trait ToolProvider: Send + Sync {
    /// Opens the source of a session that is created or opened. Must return without blocking: slow
    /// work runs in the background.
    fn open(&self, session: &SessionScope) -> Arc<dyn ToolSource>;
}

/// The external tools of one session.
#[async_trait]
pub trait ToolSource: Send + Sync {
    /// Returns the current tools, and notices about them. Called before each request to the model.
    /// May wait for tools that are about to be ready, with a timeout of 5 s. Cancel-safe.
    async fn offer(&self) -> Offer;

    /// Reads again what the source offers. Called when a turn begins, before its prompt is
    /// expanded; has a timeout of 5 s. Cancel-safe.
    async fn refresh(&self) {}

    /// Whether the set of tools may still change.
    fn grows(&self) -> bool {
        true
    }

    /// Returns the current slash commands. A command whose name is taken is left out.
    fn commands(&self) -> Vec<SlashCommand> {
        Vec::new()
    }

    /// Completes when [`ToolSource::commands`] has changed. Has a single waiter at a time;
    /// cancel-safe.
    async fn commands_changed(&self) {
        std::future::pending().await
    }

    /// Expands one of the source's commands to the content for the model; the error is for the
    /// user. `None` if the source has no such command: the prompt then goes to the model unchanged.
    /// `refused` is called before a known command is executed.
    async fn expand_command(
        &self,
        _command: &str,
        _arguments: &str,
        _refused: &Refused<'_>,
    ) -> Option<Result<Vec<Content>, String>> {
        None
    }

    /// Returns the skills of the source for the user, used or not; `None` if it has none.
    async fn skills(&self) -> Option<String> {
        None
    }

    /// Returns the content of a mention, to be attached to the prompt; the error is for the user.
    /// `None` if the source does not have it. `refused` returns why a function must not be called,
    /// if so.
    async fn attach(
        &self,
        _mention: &Mention,
        _refused: &Refused<'_>,
    ) -> Option<Result<Vec<Content>, String>> {
        None
    }

    /// Replaces the client's servers, when the client opens the session again.
    fn set_servers(&self, _servers: Vec<ClientServer>) {}

    /// Replays a successful call of the session with its result: called for each, in order,
    /// whenever the session's log is read. For a source whose offer depends on earlier calls.
    fn recall(&self, _tool: &str, _result: &str) {}

    /// Replays a prompt of the session, like [`ToolSource::recall`].
    fn recall_prompt(&self, _content: &[Content]) {}

    /// Releases what was started for the session, once it has ended. Called once.
    async fn close(&self) {}
}

/// Returns why a function must not be called, if so.
pub type Refused<'a> = dyn Fn(&str) -> Option<String> + Send + Sync + 'a;

/// A reference in a prompt to something that a source may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    /// The name of the source; `None` means any source.
    pub of: Option<String>,
    /// Its URI.
    pub uri: String,
}

/// The tools and notices of a source.
#[derive(Default)]
pub struct Offer {
    /// The tools, in the order in which they are listed to models. A tool whose name is taken is
    /// left out.
    pub tools: Vec<Arc<dyn AnyTool>>,
    /// Notices for the user, each returned once.
    pub notices: Vec<SourceNotice>,
    /// The skills that models may load, the most specific first.
    pub skills: Vec<SkillSummary>,
}

/// What a model gets of a skill before it loads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillSummary {
    /// Its name.
    pub name: String,
    /// What it does and when to use it, on one line.
    pub description: String,
}

/// A notice about a source, for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceNotice {
    /// How severe it is.
    pub severity: Severity,
    /// One line.
    pub title: String,
    /// Details, if any.
    pub description: Option<String>,
}

/// The session that tools are for.
#[derive(Debug, Clone)]
pub struct SessionScope {
    /// Its id.
    pub id: SessionId,
    /// Its directory.
    pub cwd: AbsPath,
    /// The place in which programs of its project run.
    pub programs: ProjectPrograms,
    /// The MCP servers that its client provides for this session alone.
    pub servers: Vec<ClientServer>,
    /// Directories outside its own that its tools may read without approval; a source adds those
    /// of the user's skills in use.
    pub readable: ReadableDirectories,
}

/// All providers of a runtime.
#[derive(Clone, Default)]
pub struct ToolProviders(Arc<[Arc<dyn ToolProvider>]>);

impl FromIterator<Arc<dyn ToolProvider>> for ToolProviders {
    fn from_iter<I: IntoIterator<Item = Arc<dyn ToolProvider>>>(providers: I) -> Self {
        Self(providers.into_iter().collect())
    }
}

impl std::fmt::Debug for ToolProviders {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} providers of tools", self.0.len())
    }
}

/// The sources of one session.
#[derive(Clone, Default)]
pub(crate) struct Sources(Arc<[Arc<dyn ToolSource>]>);

impl ToolProviders {
    pub(crate) fn open(&self, session: &SessionScope) -> Sources {
        Sources(self.0.iter().map(|provider| provider.open(session)).collect())
    }
}

impl Sources {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the offers of all sources. A source that panics or times out contributes nothing.
    pub(crate) async fn offer(&self) -> Offer {
        let offers = self.0.iter().map(async |source| {
            let offer = AssertUnwindSafe(source.offer()).catch_unwind();
            match tokio::time::timeout(SOURCE_WAIT, offer).await {
                Ok(Ok(offer)) => offer,
                Ok(Err(panic)) => {
                    let text = crate::text::panic::panic_text(panic.as_ref());
                    tracing::error!(text, "a source of tools panicked");
                    Offer::default()
                }
                Err(_) => {
                    tracing::warn!("a source of tools did not answer in time");
                    Offer::default()
                }
            }
        });
        let mut all = Offer::default();
        for offer in join_all(offers).await {
            all.tools.extend(offer.tools);
            all.notices.extend(offer.notices);
            all.skills.extend(offer.skills);
        }
        all
    }

    /// Lets the sources read again what they offer, before a turn. One that panics or times out
    /// keeps what it has.
    pub(crate) async fn refresh(&self) {
        let all = join_all(self.0.iter().map(|source| AssertUnwindSafe(source.refresh()).catch_unwind()));
        match tokio::time::timeout(SOURCE_WAIT, all).await {
            Ok(ended) => {
                for panic in ended.into_iter().filter_map(Result::err) {
                    let text = crate::text::panic::panic_text(panic.as_ref());
                    tracing::error!(text, "a source of tools panicked");
                }
            }
            Err(_) => tracing::warn!("a source of tools did not refresh in time"),
        }
    }

    /// Whether the set of tools may still change.
    pub(crate) fn grows(&self) -> bool {
        self.0.iter().any(|source| source.grows())
    }

    pub(crate) fn commands(&self) -> Vec<SlashCommand> {
        self.0.iter().flat_map(|source| source.commands()).collect()
    }

    /// Completes when the commands of a source have changed. Cancel-safe.
    pub(crate) async fn commands_changed(&self) {
        match self.0.is_empty() {
            true => std::future::pending().await,
            false => drop(select_all(self.0.iter().map(|source| source.commands_changed())).await),
        }
    }

    /// Expands a command through the first source that has it.
    pub(crate) async fn expand_command(
        &self,
        command: &str,
        arguments: &str,
        refused: &Refused<'_>,
    ) -> Option<Result<Vec<Content>, String>> {
        for source in self.0.iter() {
            if let Some(said) = source.expand_command(command, arguments, refused).await {
                return Some(said);
            }
        }
        None
    }

    /// Returns the skills of the first source that has any, as text for the user.
    pub(crate) async fn skills(&self) -> Option<String> {
        for source in self.0.iter() {
            if let Some(text) = source.skills().await {
                return Some(text);
            }
        }
        None
    }

    /// Returns the content of a mention from the first source that has it.
    pub(crate) async fn attach(
        &self,
        mention: &Mention,
        refused: &Refused<'_>,
    ) -> Option<Result<Vec<Content>, String>> {
        for source in self.0.iter() {
            if let Some(attached) = source.attach(mention, refused).await {
                return Some(attached);
            }
        }
        None
    }

    pub(crate) fn set_servers(&self, servers: &[ClientServer]) {
        self.0.iter().for_each(|source| source.set_servers(servers.to_vec()));
    }

    /// Passes an event to the sources if it is a prompt or a successful call.
    pub(crate) fn recall(&self, event: &SessionEvent) {
        if let SessionEvent::UserMessage { content, .. } = event {
            self.0.iter().for_each(|source| source.recall_prompt(content));
        }
        if let SessionEvent::ToolCall(ToolCallUpdate {
            name,
            status: Some(ToolStatus::Completed),
            result: Some(result),
            ..
        }) = event
        {
            self.0.iter().for_each(|source| source.recall(name, &result.text));
        }
    }

    pub(crate) async fn close(&self) {
        join_all(self.0.iter().map(|source| AssertUnwindSafe(source.close()).catch_unwind())).await;
    }
}

/// Merges a session's own tools with those of its sources; the first tool keeps a name.
pub(crate) fn merge(own: &[Arc<dyn AnyTool>], offered: Vec<Arc<dyn AnyTool>>) -> Vec<Arc<dyn AnyTool>> {
    let mut names: HashSet<_> = own.iter().map(|tool| tool.name()).collect();
    let mut kept = Vec::with_capacity(own.len() + offered.len());
    kept.extend_from_slice(own);
    for tool in &offered {
        let name = tool.name();
        match names.contains(&name) {
            true => tracing::warn!(%name, "a tool is left out: its name is taken"),
            false => {
                names.insert(name);
                kept.push(tool.clone());
            }
        }
    }
    kept
}
