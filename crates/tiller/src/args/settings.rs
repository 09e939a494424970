//! The command line of `tiller settings`.

use clap::{Args, Subcommand};

/// The commands of `tiller settings`.
#[derive(Debug, Subcommand)]
pub(crate) enum SettingsCommand {
    /// List all settings with the values that apply here.
    List {
        /// Only the settings that begin with this, such as tools.
        prefix: Option<String>,
        /// Only settings that a file or a variable sets.
        #[arg(long)]
        set: bool,
        #[command(flatten)]
        from: SettingsFrom,
    },
    /// Show the value of a setting and where it comes from.
    Get {
        /// The setting, such as tools.denied_tools.
        #[arg(value_name = "KEY")]
        name: String,
        #[command(flatten)]
        from: SettingsFrom,
    },
    /// Write a setting. It applies at once, in running agents too.
    Set {
        /// The setting, such as tools.default_permission_mode.
        #[arg(value_name = "KEY")]
        name: String,
        /// The value.
        ///
        /// A list is written as several values, or as ["a", "b"]. Write -- before a value that
        /// begins with a dash.
        #[arg(required = true)]
        value: Vec<String>,
        #[command(flatten)]
        to: SettingsTo,
    },
    /// Remove a setting from a file.
    ///
    /// The next lower layer of settings then applies.
    Unset {
        /// The setting.
        #[arg(value_name = "KEY")]
        name: String,
        #[command(flatten)]
        to: SettingsTo,
    },
    /// Write several settings, all or none.
    ///
    /// They are a JSON object of names and values on standard input. The value null removes a
    /// setting.
    Apply {
        /// Read the object from standard input.
        #[arg(long, required = true)]
        stdin_json: bool,
        #[command(flatten)]
        to: SettingsTo,
    },
    /// List the values that a setting takes.
    Options {
        /// The setting.
        #[arg(value_name = "KEY")]
        name: String,
    },
    /// Show examples of settings files.
    Examples {
        /// Only examples about this, such as hooks.
        topic: Option<String>,
    },
    /// Open a settings file in your editor.
    ///
    /// The result is checked before it replaces the old file.
    Edit {
        #[command(flatten)]
        to: SettingsFileChoice,
    },
    /// Check the settings and the providers.
    Doctor,
}

/// Which values are shown.
#[derive(Debug, Default, Args)]
pub(crate) struct SettingsFrom {
    /// Only the values of your own file.
    #[arg(long)]
    pub(crate) global: bool,
    /// Only the values of the project's file.
    #[arg(long, conflicts_with = "global")]
    pub(crate) project: bool,
    /// Show the layer, the file and the line of values.
    #[arg(long)]
    pub(crate) show_origin: bool,
}

/// The settings file to write, and whether to write it.
#[derive(Debug, Default, Args)]
pub(crate) struct SettingsTo {
    #[command(flatten)]
    pub(crate) file: SettingsFileChoice,
    /// Check the value and show the result, and write nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// One of the two settings files.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct SettingsFileChoice {
    /// Your own file (the default).
    #[arg(long)]
    pub(crate) global: bool,
    /// The file of the project in this directory.
    #[arg(long, conflicts_with = "global")]
    pub(crate) project: bool,
}
