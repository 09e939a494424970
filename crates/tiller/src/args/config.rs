//! The command line of `tiller config`.

use super::{SettingsFrom, SettingsTo};
use clap::Subcommand;

/// The commands of `tiller config`.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show the settings that apply here, as one file with origins.
    Show {
        /// Include settings that have their defaults, as comments.
        #[arg(long)]
        all: bool,
    },
    /// Show the files and directories that Tiller uses.
    Paths,
    /// Print the JSON Schema of settings files.
    Schema,
    /// The same as `settings list --set --show-origin`.
    #[command(hide = true)]
    List,
    /// The same as `settings get`.
    #[command(hide = true)]
    Get {
        /// The setting.
        #[arg(value_name = "KEY")]
        name: String,
        #[command(flatten)]
        from: SettingsFrom,
    },
    /// The same as `settings set`.
    #[command(hide = true)]
    Set {
        /// The setting.
        #[arg(value_name = "KEY")]
        name: String,
        /// The value.
        #[arg(required = true)]
        value: Vec<String>,
        #[command(flatten)]
        to: SettingsTo,
    },
    /// The same as `settings unset`.
    #[command(hide = true)]
    Unset {
        /// The setting.
        #[arg(value_name = "KEY")]
        name: String,
        #[command(flatten)]
        to: SettingsTo,
    },
}
