//! The flags of commands whose output may be long.

use clap::Args;

/// How a long result is divided.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Pages {
    /// Continue after this cursor, the `next` of the page before.
    #[arg(long, value_name = "CURSOR")]
    pub(crate) after: Option<String>,
    /// Print one JSON object a line.
    #[arg(long, conflicts_with = "json")]
    pub(crate) jsonl: bool,
}
