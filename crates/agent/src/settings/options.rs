//! The settings of a directory, resolved at one moment.

use crate::{
    CommandNetwork, Hooks, Limits, MemoryOptions, Mode, PermissionMode, PermissionRules, SandboxOptions,
    ToolProviders, UserInstructions,
    policy::{Bounds, OwnFiles, PolicySettings},
};
use std::sync::Arc;
use system::AbsPath;

/// The resolved settings of a directory at one moment: the defaults of its sessions.
#[derive(Debug, Clone, Default)]
pub struct RuntimeOptions {
    /// What new sessions start with.
    pub start: SessionStart,
    /// What models are sent beside the conversation.
    pub prompt: PromptOptions,
    /// What needs approval, and what is denied.
    pub permissions: PermissionOptions,
    /// How commands are confined.
    pub sandbox: SandboxOptions,
    /// The server of the network of commands; without it, no connection is allowed.
    pub command_network: Option<Arc<dyn CommandNetwork>>,
    /// The user's hooks for calls, prompts and turns.
    pub hooks: Hooks,
    /// Providers of further tools, if the settings are [fixed](crate::Runtime::new).
    pub tool_providers: ToolProviders,
    /// The limits.
    pub limits: Limits,
    /// Whether calls written as text are run.
    pub calls_as_text: CallsAsText,
}

impl RuntimeOptions {
    /// Returns the bounds of commands in an agent mode and in these directories.
    pub(crate) fn bounds<'a>(
        &'a self,
        mode: Mode,
        roots: &'a [AbsPath],
        own_files: Option<&'a OwnFiles>,
    ) -> Bounds<'a> {
        Bounds {
            options: &self.sandbox,
            mode,
            roots,
            blocked_paths: &self.permissions.blocked_paths,
            rules: &self.permissions.rules,
            own_files,
            folder: self.permissions.folder.as_ref(),
        }
    }

    /// Returns the settings that the permission policy depends on.
    pub(crate) fn policy(&self) -> PolicySettings<'_> {
        PolicySettings {
            allowed_paths: &self.permissions.allowed_paths,
            blocked_paths: &self.permissions.blocked_paths,
            denied_tools: &self.permissions.denied_tools,
            rules: &self.permissions.rules,
            own: &self.sandbox.guarded,
            home: self.sandbox.files.home.as_ref(),
            memories_trusted: self.prompt.memories.trusted,
            folder: self.permissions.folder.as_ref(),
        }
    }
}

/// What models are sent beside the conversation.
#[derive(Debug, Clone, Default)]
pub struct PromptOptions {
    /// The system prompt of new sessions, instead of the built-in one.
    pub system_prompt: Option<String>,
    /// JSON Schema, an object, that the last answer of a turn should follow. Models whose servers
    /// do not support schemas ignore it.
    pub answer_schema: Option<serde_json::Value>,
    /// Text added to the system prompt.
    pub append_system_prompt: Option<String>,
    /// The user's own instructions.
    pub user_instructions: UserInstructions,
    /// How sessions use memories.
    pub memories: MemoryOptions,
}

/// What new sessions start with.
#[derive(Debug, Clone, Default)]
pub struct SessionStart {
    /// The agent mode.
    pub mode: Mode,
    /// The permission mode, and the loosest with which a stored session may reopen.
    pub permission_mode: PermissionMode,
    /// The model; the default of [`Models`](crate::Models) when `None`.
    pub model: Option<String>,
    /// The models with which a session goes on, in this order: each when the provider of the one
    /// before it fails.
    pub models_in_order: Vec<String>,
    /// The models of subagents by depth, from depth 1; a missing or empty entry is the model of the
    /// agent that requested the subagent.
    pub subagent_models: Vec<Option<String>>,
}

impl SessionStart {
    /// Returns the model that follows another in [`SessionStart::models_in_order`].
    pub(crate) fn model_after(&self, model: &str) -> Option<&str> {
        let at = self.models_in_order.iter().position(|known| known == model)?;
        self.models_in_order.get(at + 1).map(String::as_str)
    }
}

/// What needs approval, and what is denied.
#[derive(Debug, Clone, Default)]
pub struct PermissionOptions {
    /// Paths outside the project that need no approval (temporary and configuration directories).
    pub allowed_paths: Vec<AbsPath>,
    /// Path patterns that are denied in every mode, beside the built-in ones.
    pub blocked_paths: Vec<String>,
    /// Tools that are denied in every mode.
    pub denied_tools: Vec<String>,
    /// Permission rules of all settings layers.
    pub rules: PermissionRules,
    /// The folder of a user of a server. No call leaves it in any mode, whatever the user answers:
    /// paths on this machine must lie below it, and commands stay in their sandbox.
    pub folder: Option<AbsPath>,
}

/// Whether calls that a model writes into the text of its answer are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CallsAsText {
    /// Run those of models not known to call tools natively; of other models, only those with the
    /// unmistakable mark of a template.
    #[default]
    Auto,
    /// Run those of all models, in every form.
    On,
    /// Run none: text is text.
    Off,
}
