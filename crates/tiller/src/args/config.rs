//! The command line of `tiller config`.

use clap::{Args, Subcommand};

/// The commands of `tiller config`.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// List the settings of your file and the project's that apply in the current directory, and
    /// those that are ignored.
    List,
    /// Show the values of one setting in the files.
    Get {
        /// The setting, such as tools.denied_tools.
        name: String,
    },
    /// Write a setting. It applies immediately, in running agents too.
    Set {
        /// The setting, such as tools.default_permission_mode.
        name: String,
        /// The value: text, a number, true or false, or a list as JSON.
        #[arg(allow_hyphen_values = true)]
        value: String,
        #[command(flatten)]
        place: ConfigPlace,
    },
    /// Remove a setting from a file.
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
    /// Write the project's file instead of your own.
    #[arg(long)]
    pub(crate) project: bool,
}
