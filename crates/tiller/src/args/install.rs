//! The arguments of `tiller install`.

use crate::editors::Editor;
use clap::Args;
use std::path::PathBuf;

/// The arguments of `tiller install`.
#[derive(Debug, Args)]
pub(crate) struct InstallArgs {
    /// The editor.
    #[arg(value_enum, conflicts_with = "list")]
    pub(crate) editor: Option<Editor>,
    /// List the editors, their settings files and whether they start Tiller.
    #[arg(long)]
    pub(crate) list: bool,
    /// Print the entry instead of writing it.
    #[arg(long, conflicts_with_all = ["dry_run", "remove", "list"])]
    pub(crate) print: bool,
    /// Show the change of the file, and write nothing.
    #[arg(long, conflicts_with = "list")]
    pub(crate) dry_run: bool,
    /// Remove the entry.
    #[arg(long, conflicts_with = "list")]
    pub(crate) remove: bool,
    /// Edit this file instead of the editor's own.
    #[arg(long, value_name = "FILE", conflicts_with = "list")]
    pub(crate) path: Option<PathBuf>,
    /// The name of the entry, which the editor shows [default: Tiller].
    #[arg(long, value_name = "NAME", conflicts_with = "list")]
    pub(crate) name: Option<String>,
    /// Edit the settings of the current project instead of the user's.
    #[arg(long, conflicts_with_all = ["path", "list"])]
    pub(crate) project: bool,
}
