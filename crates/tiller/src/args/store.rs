//! The commands of `tiller store`, and the addresses of session stores.

use agent::SessionId;
use clap::{Args, Subcommand};
use std::path::PathBuf;
use store::StoreAddress;

/// The store that a command acts on.
#[derive(Debug, Clone, Default, Args)]
#[group(id = "store_place", multiple = false)]
pub(crate) struct StoreArgs {
    /// The store: sqlite:FILE or postgres://USER@HOST/DATABASE; without it, the file of this
    /// machine. Other users see a command line: leave the password to PGPASSWORD or a file.
    #[arg(long, value_name = "URL")]
    pub(crate) store: Option<StoreAddress>,
    /// A file that holds the URL of the store, such as a credential of the service manager.
    #[arg(long, value_name = "PATH")]
    pub(crate) store_file: Option<PathBuf>,
}

/// The commands of `tiller store`.
#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Create the tables of a store, or bring those of an older program up to date.
    ///
    /// Needs a user who may create tables and roles. Running servers of the release before go on.
    Migrate(StoreArgs),
    /// Show the state of a store, and what keeps it from being used.
    Status(StoreArgs),
    /// Read every row of a store and report what is wrong.
    Verify(StoreArgs),
}

/// The arguments of `tiller sessions migrate`.
#[derive(Debug, Args)]
pub(crate) struct MigrateArgs {
    /// The store to copy from: sqlite:FILE or postgres://USER@HOST/DATABASE.
    #[arg(long, value_name = "URL", required_unless_present = "from_file", conflicts_with = "from_file")]
    pub(crate) from: Option<StoreAddress>,
    /// A file that holds the URL of the store to copy from, such as one with a password.
    #[arg(long, value_name = "PATH")]
    pub(crate) from_file: Option<PathBuf>,
    /// The store to copy to.
    #[arg(long, value_name = "URL", required_unless_present = "to_file", conflicts_with = "to_file")]
    pub(crate) to: Option<StoreAddress>,
    /// A file that holds the URL of the store to copy to.
    #[arg(long, value_name = "PATH")]
    pub(crate) to_file: Option<PathBuf>,
    /// The user of the server whose sessions they are; in a file they are those of the machine.
    #[arg(long, value_name = "USER")]
    pub(crate) user: Option<String>,
    /// Only this session, with those of its subagents. May be repeated.
    #[arg(long, value_name = "ID", value_parser = |id: &str| Ok::<_, std::convert::Infallible>(SessionId::from(id)))]
    pub(crate) session: Vec<SessionId>,
    /// Report what would be copied, and copy nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Archive each session at the source once its copy was compared.
    #[arg(long)]
    pub(crate) archive: bool,
}
