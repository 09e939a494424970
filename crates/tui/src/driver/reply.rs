//! The runtime's answers to the interface's requests.

use super::request::PromptId;
use crate::{
    composer::Entry,
    settings::{ListedTheme, SettingsFor, SettingsRead, ThemesFor},
};
use agent::{
    Checkpoint, Glance, LeaseHolder, ModelInfo, PromptOutcome, SessionEvent, SessionId, SessionRecord,
    SessionState, SlashCommand, TurnError,
};
use system::AbsPath;

/// An answer to a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// A session is open. Its stored events follow, then [`Reply::Replayed`].
    Opened(Box<OpenedSession>),
    /// All stored events of the session were delivered; what follows happens now.
    Replayed,
    /// A prompt is part of the conversation.
    Inserted(PromptId),
    /// A prompt ended.
    Settled(PromptId, Result<PromptOutcome, TurnError>),
    /// No model is set up, so no session was opened: what can be set up.
    SetupChoices(Vec<SetupChoice>),
    /// The models that can be chosen, the default first.
    Models {
        /// The models, with where the key of each comes from.
        models: Vec<(ModelInfo, ModelKey)>,
        /// Whether servers on this machine were looked for; if not, another answer follows.
        complete: bool,
    },
    /// Sessions, the last used first or the best match first.
    Sessions {
        /// The sessions, with an excerpt for each match.
        sessions: Vec<ListedSession>,
        /// Whether there are more than these.
        more: bool,
    },
    /// How a session of the list ended.
    Glance(SessionId, Glance),
    /// The turns that changed files.
    Turns(Vec<Checkpoint>),
    /// The events of a subagent's session so far.
    SubagentTranscript(Vec<SessionEvent>),
    /// The files of the project, relative to the session's directory.
    Files(Vec<String>),
    /// The history of messages, the oldest first; each with whether it was written in this
    /// directory.
    History(Vec<(Entry, bool)>),
    /// An image to attach.
    Image(Box<Attachment>),
    /// Text to insert into the composer.
    Paste(String),
    /// The settings of the interface, and why they were read.
    Settings(SettingsFor, Box<SettingsRead>),
    /// The themes that can be chosen.
    Themes(ThemesFor, Vec<ListedTheme>),
    /// Something was done, in one sentence.
    Done(String),
    /// Something could not be done: what happened, to what, and what to do next.
    Failed(String),
    /// Another process holds the session that is read; `None` if none does any more.
    HeldBy(Option<LeaseHolder>),
    /// The driver has ended; nothing follows.
    Ended,
}

/// Where the key of a model comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelKey {
    /// It needs none.
    NotNeeded,
    /// From the variable or the store with this name; `None` if that is not known.
    From(Option<String>),
    /// There is none. The value is the command that would give one.
    Missing(String),
}

/// A session that was opened.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenedSession {
    /// Its id.
    pub id: SessionId,
    /// Its directory.
    pub cwd: AbsPath,
    /// Its state.
    pub state: SessionState,
    /// Its slash commands.
    pub commands: Vec<SlashCommand>,
    /// Whether it is new.
    pub new: bool,
    /// The process that holds it, so that it can only be read.
    pub held: Option<LeaseHolder>,
}

/// A choice of the first setup, where no model is set up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SetupChoice {
    /// Its name.
    pub name: String,
    /// What is known of it.
    pub about: String,
    /// The next step on it.
    pub step: SetupStep,
    /// Whether it leads to a model without anything else.
    pub is_ready: bool,
}

/// What a choice of the first setup does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum SetupStep {
    /// Use the model with this full id.
    Take(String),
    /// Choose one of the models of this provider.
    ModelsOf(String),
    /// Look around again.
    #[default]
    Look,
    /// Answer the questions of the program's own set-up in the terminal.
    SetUp,
}

/// A session in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedSession {
    /// Its record.
    pub record: SessionRecord,
    /// The text around a match.
    pub excerpt: Option<String>,
}

/// An image that a prompt can carry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// Its media type, such as `image/png`.
    pub mime_type: String,
    /// The bytes in base64.
    pub data: String,
    /// Its width in pixels; 0 if not known.
    pub width: u32,
    /// Its height in pixels; 0 if not known.
    pub height: u32,
}
