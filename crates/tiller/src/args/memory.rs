//! The commands of `tiller memory`.

use super::Pages;
use agent::{MemoryClass, MemoryId, MemoryKind};
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Which memories are shown.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct MemoryFilter {
    /// Memories of all projects, not only of the one in the current directory.
    #[arg(long)]
    pub(crate) all: bool,
    /// Only memories of this type: project, user or decision.
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) kind: Option<MemoryKind>,
    /// Only memories of this class: durable, working or priority.
    #[arg(long, value_name = "CLASS")]
    pub(crate) class: Option<MemoryClass>,
    /// Also memories that have expired.
    #[arg(long)]
    pub(crate) expired: bool,
    /// Maximum number of results.
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
}

/// The commands of `tiller memory`.
#[derive(Debug, Subcommand)]
pub(crate) enum MemoryCommand {
    /// List the memories of this project and yours.
    ///
    /// The most important ones are first.
    List {
        #[command(flatten)]
        filter: MemoryFilter,
        #[command(flatten)]
        pages: Pages,
        /// Print what a new session with this first prompt is sent.
        #[arg(long, value_name = "TEXT", num_args = 0..=1, default_missing_value = "", conflicts_with_all = ["all", "kind", "class", "expired", "limit", "after", "jsonl"])]
        prompt: Option<String>,
    },
    /// Show a memory.
    Show {
        /// The number of the memory.
        id: MemoryId,
    },
    /// Search memories.
    Search {
        /// Words, or their beginnings, that all occur in a memory.
        #[arg(required = true)]
        words: Vec<String>,
        #[command(flatten)]
        filter: MemoryFilter,
        #[command(flatten)]
        pages: Pages,
    },
    /// Save a memory.
    Add {
        /// The title, one line.
        title: String,
        /// The text; `-` reads it from stdin.
        content: String,
        /// What it is about: project, user (valid in every project) or decision.
        #[arg(long = "type", value_name = "TYPE", default_value = "project")]
        kind: MemoryKind,
        /// How long it is useful: durable, working (14 days) or priority.
        #[arg(long, value_name = "CLASS", default_value = "durable")]
        class: MemoryClass,
        /// Put it before others.
        #[arg(long)]
        pin: bool,
        /// Days until it expires; 0 means never.
        #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(0..=3650))]
        expires_days: Option<u32>,
    },
    /// Edit a memory in your editor (VISUAL or EDITOR).
    Edit {
        /// The number of the memory.
        id: MemoryId,
    },
    /// Put a memory before others.
    Pin {
        /// The number of the memory.
        id: MemoryId,
    },
    /// Revert `pin`.
    Unpin {
        /// The number of the memory.
        id: MemoryId,
    },
    /// Delete memories permanently.
    Forget {
        /// The numbers of the memories.
        #[arg(required = true)]
        ids: Vec<MemoryId>,
    },
    /// Print memories as Markdown that `import` reads.
    Export {
        /// Memories of all projects.
        #[arg(long)]
        all: bool,
    },
    /// Save the memories of an export.
    ///
    /// Those that are stored already are left out.
    Import {
        /// The file; `-` reads stdin.
        file: PathBuf,
        /// Save memories of projects for the project in the current directory.
        #[arg(long)]
        here: bool,
    },
    /// Trust this project with memories.
    ///
    /// They are then sent to models, and models save them without asking.
    Trust {
        /// Revoke the trust.
        #[arg(long, conflicts_with = "yes")]
        revoke: bool,
        /// Trust without asking, for scripts.
        #[arg(long)]
        yes: bool,
    },
}
