//! The seam to tools that come from elsewhere: servers, scripts, integrations.
//!
//! A [`ToolProvider`] belongs to the runtime and makes a [`ToolSource`] for each session. The session asks its sources before each request to the
//! model, so tools can come and go while it runs. What they give goes through the same gate as everything else.

pub(crate) mod server;

use crate::{
    AnyTool, ClientServer, Content, SessionEvent, SessionId, Severity, SlashCommand, ToolCallUpdate,
    ToolStatus, limits::SOURCE_WAIT,
};
use async_trait::async_trait;
use futures::{
    FutureExt as _,
    future::{join_all, select_all},
};
use std::{collections::HashSet, panic::AssertUnwindSafe, sync::Arc};
use system::AbsPath;

/// Gives sessions further tools, beside the built-in ones and those of their client.
pub trait ToolProvider: Send + Sync {
    /// What a session that is being made or opened gets its tools from. Returns at once: whatever takes time happens behind it.
    fn open(&self, session: &SessionScope) -> Arc<dyn ToolSource>;
}

/// Further tools of one session.
#[async_trait]
pub trait ToolSource: Send + Sync {
    /// The tools that are there now, and what is new about them. Asked before each request to the model; may wait for tools that are about to
    /// be there, and is given up on after 5 s. Cancel-safe.
    async fn offer(&self) -> Offer;

    /// Whether it may come to have other tools than those that it has now.
    fn grows(&self) -> bool {
        true
    }

    /// The slash commands that it has now. One with a name that is taken already is left out.
    fn commands(&self) -> Vec<SlashCommand> {
        Vec::new()
    }

    /// Completes when [`ToolSource::commands`] has become another list. Waited for by one at a time; cancel-safe.
    async fn commands_changed(&self) {
        std::future::pending().await
    }

    /// What the user says to the model with one of its commands; the error is for the user. `None`
    /// where it has no such command: the prompt then goes to the model as it is. `refused` is asked
    /// before a command that it has is carried out.
    async fn say(
        &self,
        _command: &str,
        _arguments: &str,
        _refused: &Refused<'_>,
    ) -> Option<Result<Vec<Content>, String>> {
        None
    }

    /// What a prompt mentions, to be attached to it; the error is for the user. `None` where it has no such thing. `refused` says of a function why it
    /// must not be called, if it must not.
    async fn attach(
        &self,
        _mention: &Mention,
        _refused: &Refused<'_>,
    ) -> Option<Result<Vec<Content>, String>> {
        None
    }

    /// The client opened the session again, with these servers in place of those that it gave before.
    fn set_servers(&self, _servers: Vec<ClientServer>) {}

    /// A call of the session ended well, with this text as its result: told of each, in order,
    /// whenever the session's log is read. For a source whose offer depends on what was called
    /// before.
    fn recall(&self, _tool: &str, _result: &str) {}

    /// The session has ended: ends what was started for it. Called once.
    async fn close(&self) {}
}

/// Says of a function why it must not be called, if it must not.
pub type Refused<'a> = dyn Fn(&str) -> Option<String> + Send + Sync + 'a;

/// Something that a prompt mentions and a source may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    /// Who is said to have it; anybody, where nobody is named.
    pub of: Option<String>,
    /// Its address.
    pub uri: String,
}

/// What a source has for a session.
#[derive(Default)]
pub struct Offer {
    /// The tools, in the order models are told of them. One with a name that is taken already is left out.
    pub tools: Vec<Arc<dyn AnyTool>>,
    /// What the user is to be told, each once.
    pub notices: Vec<SourceNotice>,
}

/// Something that the user should know of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceNotice {
    /// How much it matters.
    pub severity: Severity,
    /// One line.
    pub title: String,
    /// The rest, if any.
    pub description: Option<String>,
}

/// The session that tools are for.
#[derive(Debug, Clone)]
pub struct SessionScope {
    /// Its id.
    pub id: SessionId,
    /// Its folder.
    pub cwd: AbsPath,
    /// The servers that its client gave, for this session alone.
    pub servers: Vec<ClientServer>,
}

/// Every provider of a runtime.
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

    /// What all of them have now. One that panics or takes too long has nothing, and harms nobody.
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
        }
        all
    }

    /// Whether one of them may come to have other tools than those that it has now.
    pub(crate) fn grows(&self) -> bool {
        self.0.iter().any(|source| source.grows())
    }

    pub(crate) fn commands(&self) -> Vec<SlashCommand> {
        self.0.iter().flat_map(|source| source.commands()).collect()
    }

    /// Completes when the commands of one of them are others. Cancel-safe.
    pub(crate) async fn commands_changed(&self) {
        match self.0.is_empty() {
            true => std::future::pending().await,
            false => drop(select_all(self.0.iter().map(|source| source.commands_changed())).await),
        }
    }

    /// What the first that has a command makes of it.
    pub(crate) async fn say(
        &self,
        command: &str,
        arguments: &str,
        refused: &Refused<'_>,
    ) -> Option<Result<Vec<Content>, String>> {
        for source in self.0.iter() {
            if let Some(said) = source.say(command, arguments, refused).await {
                return Some(said);
            }
        }
        None
    }

    /// What the first that has what is mentioned gives.
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

    /// Tells the sources of a call that ended well, if the event says so of one.
    pub(crate) fn recall(&self, event: &SessionEvent) {
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

/// A session's own tools and those of its sources; a name belongs to whoever comes first.
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
