//! `tiller sessions migrate`: copies sessions from one store to another.

use super::{Addresses, existing};
use crate::{
    answer::{Answer, Console},
    args::{MigrateArgs, StoreArgs},
    exit::Exit,
};
use anyhow::{Context as _, Result, ensure};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write as _;
use store::{
    Database,
    transfer::{MovedMemories, Outcome, Transfer, transfer, transfer_memories},
};

/// What became of the sessions.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct TransferReport {
    /// Whether nothing was copied, because only a plan was asked for.
    dry_run: bool,
    /// The number of copied sessions.
    copied: u64,
    /// The number of sessions that were there already, with the same events.
    present: u64,
    /// The number of sessions that differ there, and were left alone.
    different: u64,
    /// The number of sessions that were not copied for another reason.
    failed: u64,
    /// The memories; none were copied if only some sessions were asked for.
    memories: Option<MemoryCounts>,
    /// Each session.
    items: Vec<TransferRow>,
}

/// What became of the memories.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MemoryCounts {
    /// The number of copied memories.
    copied: u64,
    /// The number of memories that were there already.
    present: u64,
    /// The number of those like which another one was there, which was left alone.
    different: u64,
    /// The number of those that there was no room for.
    full: u64,
}

/// What became of a session.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TransferRow {
    /// The session.
    session_id: String,
    /// What became of it: copied, present, different or failed.
    outcome: &'static str,
    /// Why, if it was not copied.
    reason: Option<String>,
}

/// Runs the command. Exit code 1 if a session differs or was not copied.
pub(crate) async fn run(console: &Console, addresses: &Addresses<'_>, args: MigrateArgs) -> Result<Exit> {
    let MigrateArgs { from, from_file, to, to_file, user, session, dry_run, archive } = args;
    let from = StoreArgs { store: from, store_file: from_file };
    let to = StoreArgs { store: to, store_file: to_file };
    let from = addresses.of_flag(from, "--from-file").await?.context("--from is missing")?;
    let to = addresses.of_flag(to, "--to-file").await?.context("--to is missing")?;
    ensure!(from != to, "--from and --to name the same store; name two");
    existing(&from)?;
    let (source, target) = (Database::open(&from).await?, Database::open(&to).await?);
    let options = Transfer { user, sessions: session, dry_run, archive };
    let mut report = TransferReport { dry_run, ..TransferReport::default() };
    transfer(&source, &target, &options, |id, outcome| report.add(id.as_str(), outcome)).await?;
    if options.sessions.is_empty() {
        let MovedMemories { copied, present, different, full } =
            transfer_memories(&source, &target, &options).await?;
        report.memories = Some(MemoryCounts { copied, present, different, full });
    }
    let left = report.memories.as_ref().map_or(0, |memories| memories.different + memories.full);
    let is_incomplete = report.different + report.failed + left > 0;
    let text = report.text();
    console.print(
        Answer::new(report, text).failed_if(is_incomplete, "some sessions or memories were not copied"),
    )
}

impl TransferReport {
    fn add(&mut self, id: &str, outcome: &Outcome) {
        let (count, word, reason) = match outcome {
            Outcome::Copied { .. } => (&mut self.copied, "copied", None),
            Outcome::Present => (&mut self.present, "present", None),
            Outcome::Different { events: (here, there) } => {
                let reason = format!("it has {here} events here and {there} there, or other ones");
                (&mut self.different, "different", Some(reason))
            }
            Outcome::Failed { why } => (&mut self.failed, "failed", Some(why.clone())),
        };
        *count += 1;
        self.items.push(TransferRow { session_id: id.to_owned(), outcome: word, reason });
    }

    fn text(&self) -> String {
        let copied = if self.dry_run { "to be copied" } else { "copied" };
        let mut text = format!(
            "{} {copied}, {} there already, {} different, {} failed\n",
            self.copied, self.present, self.different, self.failed
        );
        if let Some(MemoryCounts { copied: count, present, different, full }) = &self.memories {
            let _ = writeln!(
                text,
                "memories: {count} {copied}, {present} there already, {different} different, {full} without room"
            );
        }
        for row in &self.items {
            if let Some(reason) = &row.reason {
                let _ = writeln!(text, "{} {}: {reason}", row.session_id, row.outcome);
            }
        }
        text
    }
}
