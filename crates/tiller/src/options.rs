//! Everything that can be set, resolved: what the rest of the program is given instead of files, variables and flags.

use agent::{Limits, Mode, PermissionMode};
use std::fmt;
use system::AbsPath;

/// The resolved options of one run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Options {
    pub(crate) folders: Folders,
    /// The model of new sessions; the first one available when `None`.
    pub(crate) model: Option<String>,
    pub(crate) mode: Mode,
    pub(crate) permission_mode: PermissionMode,
    pub(crate) append_system_prompt: Option<String>,
    /// Tools that are denied in every mode.
    pub(crate) denied_tools: Vec<String>,
    /// Path patterns that are denied in every mode, beside the built-in ones.
    pub(crate) blocked_paths: Vec<String>,
    /// Paths outside the project that are not asked about.
    pub(crate) allowed_paths: Vec<AbsPath>,
    pub(crate) openai: Provider,
    pub(crate) wire: Wire,
    pub(crate) anthropic: Provider,
    pub(crate) local: Local,
    pub(crate) terminal: Terminal,
    pub(crate) tools: Tools,
    /// Where the model's traffic is recorded.
    pub(crate) record: Option<AbsPath>,
    pub(crate) limits: Limits,
}

/// Where things are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Folders {
    pub(crate) home: AbsPath,
    pub(crate) config: AbsPath,
    pub(crate) data: AbsPath,
    pub(crate) cache: AbsPath,
    pub(crate) temp: AbsPath,
}

/// A vendor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Provider {
    /// Where it is; the vendor's own address when `None`.
    pub(crate) base_url: Option<String>,
    /// The variable that holds the key.
    pub(crate) api_key_env: String,
    /// The key, from that variable.
    pub(crate) api_key: Option<Secret>,
}

/// Text that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

/// Which of OpenAI's two wires is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Wire {
    /// Responses at the vendor's own address, Chat Completions at any other.
    #[default]
    Auto,
    Chat,
    Responses,
}

/// Model servers on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Local {
    /// Whether the usual ports on loopback are looked at.
    pub(crate) discover: bool,
    /// Further servers.
    pub(crate) urls: Vec<String>,
}

/// Where commands run when the client has terminals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Terminal {
    #[default]
    Client,
    Local,
}

/// Which tools act where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Tools {
    /// One machine where the editor started the agent itself, two where it reached it over a network.
    #[default]
    Auto,
    Transparent,
    Ide,
    Off,
}

impl Options {
    /// What holds when nobody says anything.
    pub(crate) fn built_in(folders: Folders) -> Self {
        let vendor =
            |variable: &str| Provider { base_url: None, api_key_env: variable.to_owned(), api_key: None };
        Self {
            model: None,
            mode: Mode::default(),
            permission_mode: PermissionMode::default(),
            append_system_prompt: None,
            denied_tools: Vec::new(),
            blocked_paths: Vec::new(),
            allowed_paths: vec![folders.temp.clone()],
            openai: vendor("OPENAI_API_KEY"),
            wire: Wire::default(),
            anthropic: vendor("ANTHROPIC_API_KEY"),
            local: Local { discover: true, urls: Vec::new() },
            terminal: Terminal::default(),
            tools: Tools::default(),
            record: None,
            limits: Limits::default(),
            folders,
        }
    }

    /// Adds to the text that is added to the system prompt.
    pub(crate) fn append_prompt(&mut self, text: &str) {
        match &mut self.append_system_prompt {
            Some(before) => {
                before.push_str("\n\n");
                before.push_str(text);
            }
            none => *none = Some(text.to_owned()),
        }
    }
}

impl Secret {
    pub(crate) fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The text itself, for the one place that sends it.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}
