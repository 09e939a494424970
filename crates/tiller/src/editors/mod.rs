//! Editors that can start this program: their settings files, and the entry that names it.
//!
//! Settings in JSON are edited as text ([`jsonc`]). Neovim and Emacs are configured by programs in
//! Lua and Lisp, which only their owner can edit safely: for them there is a block to paste.

mod block;
mod entry;
mod found;
mod jsonc;
mod places;

pub(crate) use block::block;
pub(crate) use entry::{Edit, edited};
pub(crate) use found::{FoundEditor, look};
pub(crate) use places::Places;

use clap::ValueEnum;

/// The name of the entry unless the user gives another.
pub(crate) const ENTRY_NAME: &str = "Tiller";

/// An editor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Editor {
    /// Zed, which speaks the protocol itself.
    Zed,
    /// The IDEs of JetBrains, through AI Assistant.
    Jetbrains,
    /// Neovim, through the plugin CodeCompanion.
    Neovim,
    /// Emacs, through the package agent-shell.
    Emacs,
    /// Visual Studio Code, through the extension ACP Client.
    Vscode,
}

impl Editor {
    /// All editors, in the order of their lists.
    pub(crate) const ALL: [Self; 5] = [Self::Zed, Self::Jetbrains, Self::Neovim, Self::Emacs, Self::Vscode];

    /// The word on the command line.
    pub(crate) fn id(self) -> &'static str {
        match self {
            Self::Zed => "zed",
            Self::Jetbrains => "jetbrains",
            Self::Neovim => "neovim",
            Self::Emacs => "emacs",
            Self::Vscode => "vscode",
        }
    }

    /// The name for people, with the extension that speaks the protocol.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Zed => "Zed",
            Self::Jetbrains => "JetBrains IDEs (AI Assistant)",
            Self::Neovim => "Neovim (CodeCompanion)",
            Self::Emacs => "Emacs (agent-shell)",
            Self::Vscode => "VS Code (ACP Client)",
        }
    }

    /// The steps that remain after the entry is there.
    pub(crate) fn next_step(self) -> &'static str {
        match self {
            Self::Zed => "Open the agent panel in Zed and start a thread with Tiller.",
            Self::Jetbrains => {
                "Choose Tiller among the agents of the AI Chat window (AI Assistant 2025.2 or newer)."
            }
            Self::Neovim => "Restart Neovim and run :CodeCompanionChat adapter=tiller",
            Self::Emacs => "Restart Emacs and run M-x agent-shell",
            Self::Vscode => {
                "VS Code does not speak the agent protocol itself. Install the extension \
                 formulahendry.acp-client, then run \"ACP: Connect to Agent\"."
            }
        }
    }
}
