//! `tiller sessions rewind`: restores files on this machine to their state after a turn.

use crate::{
    args::OutputFormat,
    exit::Exit,
    headless::{client::HeadlessClient, output::Output},
};
use agent::{OpenSession, RewindTarget, Runtime, SessionId, Surface};
use anyhow::Result;
use std::{
    io::Write,
    sync::{Arc, Mutex},
};
use system::System;

/// Restores files, or lists the turns if there is no target. Exit code 1 if a file was left
/// unchanged.
pub(super) async fn run(
    runtime: &Arc<Runtime>,
    system: Arc<dyn System>,
    id: &SessionId,
    target: Option<RewindTarget>,
) -> Result<Exit> {
    let mut stdout = crate::screen::stdout();
    let Some(target) = target else {
        for checkpoint in runtime.checkpoints(id).await? {
            let files: Vec<_> = checkpoint.files.iter().map(|file| file.as_str()).collect();
            writeln!(
                stdout,
                "{}  {}\n    {}",
                checkpoint.turn,
                agent::one_line(&checkpoint.prompt),
                files.join("\n    ")
            )?;
        }
        return Ok(Exit::Ok);
    };
    // The report covers everything that the session would print meanwhile.
    let silent: Box<dyn Write + Send> = Box::new(std::io::sink());
    let output = Arc::new(Mutex::new(Output::new(OutputFormat::Text, silent, || 0)));
    let surface = Surface { client: Arc::new(HeadlessClient::new(output)), system };
    let session = runtime.open(id, OpenSession::default(), |_| surface).await?;
    let report = session.rewind(target).await;
    session.close().await;
    let report = report?;
    write!(stdout, "{report}")?;
    Ok(if report.left.is_empty() { Exit::Ok } else { Exit::Error })
}
