//! What the interface asks of the runtime.

use crate::{
    composer::Entry,
    settings::{SettingsFor, ThemesFor},
};
use agent::{Content, Effort, Mode, PermissionMode, RewindTarget, SessionId};

/// Identifies a prompt of this interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PromptId(pub u64);

/// When a prompt is handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// By the running turn before its next request to the model; at once if no turn runs.
    Next,
    /// After the running turn and the prompts that wait; at once if no turn runs.
    After,
}

/// Which session to open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    /// The one that the command line asks for, or that the user chose for it: see
    /// [`Host::open_first`].
    ///
    /// [`Host::open_first`]: super::host::Host::open_first
    First {
        /// The session that the user chose.
        chosen: Option<SessionId>,
        /// Whether to take it over from another process.
        take_over: bool,
    },
    /// A new one in the interface's directory.
    New,
    /// A stored one.
    Stored {
        /// The session.
        id: SessionId,
        /// Whether to take it over from another process.
        take_over: bool,
    },
    /// A copy of a stored one.
    Fork(SessionId),
}

impl Which {
    /// Returns the same session, to be taken over from another process.
    #[must_use]
    pub fn taken_over(self) -> Self {
        match self {
            Self::First { chosen, .. } => Self::First { chosen, take_over: true },
            Self::Stored { id, .. } => Self::Stored { id, take_over: true },
            other => other,
        }
    }
}

/// What the interface asks of the runtime. Each is answered by replies and events.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// Sends a prompt.
    Send {
        /// Identifies it in replies.
        id: PromptId,
        /// What the user wrote.
        content: Vec<Content>,
        /// When it is handled.
        when: When,
        /// Whether it is a command line of the user's own.
        is_own: bool,
    },
    /// Takes a waiting prompt back, or cancels it if it runs.
    Withdraw(PromptId),
    /// Cancels the running turn and the prompts that wait.
    Cancel,
    /// Changes the agent mode.
    SetMode(Mode),
    /// Changes the permission mode.
    SetPermissionMode(PermissionMode),
    /// Changes the model.
    SetModel {
        /// The full id.
        id: String,
        /// Whether new sessions use it too.
        default: bool,
    },
    /// Changes the reasoning effort.
    SetEffort(Option<Effort>),
    /// Panics on the runtime's thread, for tests; in a task that catches it or not.
    #[cfg(debug_assertions)]
    Panic {
        /// Whether it is caught.
        caught: bool,
    },
    /// Undoes changes of files, or undoes that.
    Rewind(RewindTarget),
    /// Leaves the session and opens another.
    Open(Which),
    /// Opens the session for which there was no model.
    OpenAgain,
    /// Looks for setup choices again.
    FindSetupChoices,
    /// Lists the models of a provider as setup choices.
    SetupChoicesOf(String),
    /// Makes a model the one of new sessions, and opens the session for which there was none.
    TakeModel(String),
    /// Takes the session that is read over from the process that holds it.
    TakeOver,
    /// Lists the models.
    ListModels,
    /// Lists sessions: with words, those in which they occur.
    ListSessions {
        /// Words of their messages; empty for all.
        words: String,
        /// Whether sessions of other directories are listed too.
        everywhere: bool,
    },
    /// Keeps for later runs whether the list of sessions shows those of all directories.
    KeepScope {
        /// Whether it does.
        everywhere: bool,
    },
    /// Reads how a session of the list ended.
    Glance(SessionId),
    /// Changes the title of a session.
    Rename {
        /// The session.
        id: SessionId,
        /// The title.
        title: String,
    },
    /// Archives a session.
    Archive(SessionId),
    /// Lists the turns that a rewind can go back to.
    ListTurns,
    /// Lists the files of the project for completion.
    ListFiles,
    /// Cancels a subagent.
    CancelSubagent(String),
    /// Shows the transcript of a subagent's session.
    ShowSubagent(SessionId),
    /// Reads the image or the text in the clipboard.
    ReadClipboard,
    /// Passes a text to the local clipboard's program, if there is one.
    Copy(String),
    /// Loads an image file.
    LoadImage(String),
    /// Loads an image whose path was pasted. If there is none, the text is pasted.
    Dropped {
        /// The path.
        path: String,
        /// What was pasted.
        text: String,
    },
    /// Reads the settings of the interface.
    ReadSettings(SettingsFor),
    /// Changes a setting in the user's file.
    ChangeSetting {
        /// The dotted name.
        name: String,
        /// The value, as the words that are typed; `None` for the default.
        value: Option<Vec<String>>,
    },
    /// Lists the themes.
    ListThemes(ThemesFor),
    /// Keeps a message in the history.
    Remember(Entry),
    /// Writes the session as a document to a file, whose path the user typed.
    Export(String),
    /// Ends the interface.
    Quit,
}
