//! The command line of `tiller config`.

use clap::{Args, Subcommand};

/// The commands of `tiller config`.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// List the settings of your file and of the project's that count in the current folder, and
    /// what is ignored.
    List {
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Show what files set of one setting.
    Get {
        /// The setting, such as tools.denied_tools.
        name: String,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Write a setting. It counts at once, for agents that run too.
    Set {
        /// The setting, such as tools.default_permission_mode.
        name: String,
        /// The value: text, a number, true or false, or a list as JSON.
        #[arg(allow_hyphen_values = true)]
        value: String,
        #[command(flatten)]
        place: ConfigPlace,
    },
    /// Take a setting out of a file.
    Unset {
        /// The setting.
        name: String,
        #[command(flatten)]
        place: ConfigPlace,
    },
}

/// The settings file that is written.
#[derive(Debug, Args)]
pub(crate) struct ConfigPlace {
    /// The project's file, in place of your own.
    #[arg(long)]
    pub(crate) project: bool,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}
