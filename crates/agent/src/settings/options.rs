//! What the settings of a folder come to at one moment.

use crate::{Hooks, Limits, Mode, PermissionMode, PermissionRules, SandboxOptions, ToolProviders};
use system::AbsPath;

/// How the sessions of a folder behave unless they say otherwise: what their settings come to at
/// one moment.
#[derive(Debug, Clone, Default)]
pub struct RuntimeOptions {
    /// The agent mode of new sessions.
    pub mode: Mode,
    /// The permission mode of new sessions, and the loosest that a loaded session may come back with.
    pub permission_mode: PermissionMode,
    /// The model of new sessions; the default of [`Models`] when `None`.
    pub model: Option<String>,
    /// Text added to the system prompt.
    pub append_system_prompt: Option<String>,
    /// Paths outside the project that are not asked about (temporary and configuration folders).
    pub allowed_paths: Vec<AbsPath>,
    /// Path patterns that are denied in every mode, beside the built-in ones.
    pub blocked_paths: Vec<String>,
    /// Tools that are denied in every mode.
    pub denied_tools: Vec<String>,
    /// Rules from the settings, of all layers.
    pub rules: PermissionRules,
    /// How commands are confined.
    pub sandbox: SandboxOptions,
    /// The user's commands around calls, prompts and turns.
    pub hooks: Hooks,
    /// What gives sessions further tools, where the settings are [fixed](Runtime::new).
    pub tool_providers: ToolProviders,
    /// The limits.
    pub limits: Limits,
    /// Whether calls that a model writes into its text are calls.
    pub calls_as_text: CallsAsText,
}

/// Whether calls that a model writes into the text of its answer are run as calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CallsAsText {
    /// Those of models that are not known to call tools natively; of all others only what the mark of a template makes unmistakable.
    #[default]
    Auto,
    /// Those of all models, in every form.
    On,
    /// None: text is text.
    Off,
}
