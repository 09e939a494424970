//! `tiller sessions fork`: creates a session that begins with the history of another.

use super::{created, record, silent};
use crate::{answer::Console, exit::Exit};
use agent::{CreateSession, Runtime, SessionId};
use anyhow::Result;
use std::sync::Arc;
use system::System;

/// Creates the session, in the same directory and with the same mode, and prints its id.
pub(super) async fn run(
    console: &Console,
    runtime: &Arc<Runtime>,
    system: Arc<dyn System>,
    from: &SessionId,
) -> Result<Exit> {
    let from = record(runtime, from).await?;
    let new = CreateSession {
        cwd: from.cwd,
        additional_directories: from.additional_directories,
        servers: Vec::new(),
    };
    let session = runtime.fork(&from.id, new, |_| silent::surface(system)).await?;
    let id = session.id().clone();
    session.close().await;
    let title = record(runtime, &id).await?.title;
    created(console, &id, "forked", title)
}
