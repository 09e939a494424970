//! The arguments of `tiller completions`, `tiller man` and the hidden `tiller __complete`.

use crate::completions::Kind;
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
#[command(after_help = "\
Examples:
  tiller completions bash >~/.local/share/bash-completion/completions/tiller
  tiller completions zsh >~/.zfunc/_tiller
  tiller completions fish >~/.config/fish/completions/tiller.fish")]
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

/// The arguments of `tiller __complete`.
#[derive(Debug, Args)]
pub(crate) struct CompleteArgs {
    /// The kind of values.
    #[arg(value_enum)]
    pub(crate) kind: Kind,
    /// The setting, for its values; then what the value begins with.
    #[arg(num_args = 0..=2, allow_hyphen_values = true)]
    pub(crate) words: Vec<String>,
}
