//! The command line of `tiller skills`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// The commands of `tiller skills`.
#[derive(Debug, Subcommand)]
pub(crate) enum SkillsCommand {
    /// List skills and commands from files, with their place and whether they are used.
    List(SkillsArgs),
    /// Show a skill: its description, its files and its instructions.
    Show {
        /// The skill's name.
        name: String,
        #[command(flatten)]
        common: SkillsArgs,
    },
    /// Check skills against the format; without a directory, all that are found.
    Validate {
        /// Directories with a SKILL.md.
        #[arg(value_name = "DIR")]
        directories: Vec<PathBuf>,
        #[command(flatten)]
        common: SkillsArgs,
    },
}

/// The options of all of these commands.
#[derive(Debug, Args)]
pub(crate) struct SkillsArgs {
    /// The project's directory; defaults to the current directory.
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

impl SkillsCommand {
    /// Returns the options.
    pub(crate) fn common(&self) -> &SkillsArgs {
        match self {
            Self::List(common) | Self::Show { common, .. } | Self::Validate { common, .. } => common,
        }
    }
}
