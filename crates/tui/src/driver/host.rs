//! What the interface needs of the program around it.

use super::reply::{Attachment, SetupChoice};
use crate::{
    composer::Entry,
    settings::{ListedTheme, SettingsRead},
};
use agent::{LeaseHolder, SessionHandle, SessionId, Surface};
use async_trait::async_trait;
use std::{collections::HashMap, sync::Arc};
use system::{AbsPath, System};

/// What the clipboard holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Clip {
    /// Text.
    Text(String),
    /// An image.
    Image(Attachment),
}

/// A session that was opened.
#[derive(Debug, Clone)]
pub struct Opened {
    /// The open session.
    pub session: SessionHandle,
    /// Whether it is new.
    pub new: bool,
}

/// Why a session was not opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OpenError {
    /// Another process holds it.
    Held {
        /// The session.
        id: SessionId,
        /// The process.
        holder: LeaseHolder,
    },
    /// No model is set up: see [`Host::setup_choices`].
    NoModel,
    /// Anything else: a message for the user.
    Failed(String),
}

/// The program around the interface: files of the user, other programs, settings.
///
/// Every error is a message for the user.
#[async_trait]
pub trait Host: Send + Sync {
    /// Returns the system through which a session's tools act.
    fn system(&self) -> Arc<dyn System>;

    /// Returns the directory of new sessions.
    fn cwd(&self) -> &AbsPath;

    /// Opens the session that the command line asks for, or the one that the user chose for it,
    /// with what the flags change. `take_over` takes it over from another process, as the flag
    /// does.
    async fn open_first(
        &self,
        chosen: Option<SessionId>,
        take_over: bool,
        surface: Surface,
    ) -> Result<Opened, OpenError>;

    /// Looks for models that could be set up. Sends nothing beyond this machine.
    async fn setup_choices(&self) -> Vec<SetupChoice>;

    /// Asks a provider for its models; returns each as a choice.
    async fn setup_choices_of(&self, provider: &str) -> Result<Vec<SetupChoice>, String>;

    /// Makes a model the one of the first session and of new ones; returns what was done.
    async fn take_model(&self, id: &str) -> Result<String, String>;

    /// Sets a model up with the questions of the program's own command, in the foreground. Blocks
    /// the calling thread; the terminal is the command's meanwhile.
    async fn set_up(&self) -> Result<(), String>;

    /// Lists the files of a directory for completion: relative paths, without what ignore rules
    /// exclude.
    async fn files(&self, folder: &AbsPath) -> Result<Vec<String>, String>;

    /// Returns the history of messages, the oldest first; each with whether it was written in this
    /// directory.
    async fn history(&self) -> Result<Vec<(Entry, bool)>, String>;

    /// Adds a message to the history.
    async fn remember(&self, entry: Entry) -> Result<(), String>;

    /// Keeps for later runs whether the list of sessions shows those of all directories.
    async fn keep_scope(&self, everywhere: bool) -> Result<(), String>;

    /// Reads the clipboard.
    async fn clipboard(&self) -> Result<Clip, String>;

    /// Reads an image file.
    async fn image(&self, path: &str) -> Result<Attachment, String>;

    /// Writes a session as a document to a new file; returns its path.
    async fn export(&self, session: &SessionId, path: &str) -> Result<String, String>;

    /// Returns where the key of each provider comes from: the name of a variable or of a store, by
    /// the provider's name.
    async fn key_sources(&self) -> HashMap<String, String>;

    /// Makes a model the one of new sessions; returns what was written where.
    async fn set_default_model(&self, id: &str) -> Result<String, String>;

    /// Reads the settings of the interface.
    async fn settings(&self) -> Result<SettingsRead, String>;

    /// Changes a setting of the interface in the user's file, or removes it there; returns what was
    /// written where. `value` has the words that the user typed.
    async fn change_setting(&self, name: &str, value: Option<&[String]>) -> Result<String, String>;

    /// Returns the themes that can be chosen.
    async fn themes(&self) -> Result<Vec<ListedTheme>, String>;

    /// Opens the user's editor on a text in the foreground, and returns what was saved. Blocks the
    /// calling thread; the terminal is the editor's meanwhile.
    async fn edit(&self, text: &str) -> Result<String, String>;

    /// Passes a text to the local clipboard's program; returns whether there is one. Waits at most
    /// a few seconds.
    async fn copy(&self, text: &str) -> bool;
}
