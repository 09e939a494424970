//! The arguments of `tiller completions`, `tiller man` and the hidden `tiller __complete`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// A shell that has a completion script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shell {
    Bash,
    Zsh,
    Fish,
    Powershell,
    Elvish,
    Nushell,
}

/// The arguments of `tiller completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

/// The arguments of `tiller man`.
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Write a page for each command into this directory, instead of printing one.
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    pub(crate) out: Option<PathBuf>,
    /// The command, such as `sessions list`.
    pub(crate) command: Vec<String>,
}

/// What an argument names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompletedKind {
    /// Models, as PROVIDER/NAME.
    Models,
    /// Ids of stored sessions, with their titles.
    Sessions,
    /// Names of settings.
    Settings,
    /// Values of the setting that is given.
    Values,
    /// MCP servers.
    Servers,
    /// Integrations.
    Integrations,
    /// Functions of integrations.
    Functions,
}

impl CompletedKind {
    /// The word for `__complete`.
    pub(crate) fn word(self) -> String {
        self.to_possible_value().expect("no kind is hidden").get_name().to_owned()
    }
}

/// The arguments of `tiller __complete`.
#[derive(Debug, Args)]
pub(crate) struct CompleteArgs {
    /// The kind of values.
    #[arg(value_enum)]
    pub(crate) kind: CompletedKind,
    /// The setting, for its values; then what the value begins with.
    #[arg(num_args = 0..=2, allow_hyphen_values = true)]
    pub(crate) words: Vec<String>,
}
