//! `tiller models`: what can be chosen now.

use crate::exit;
use agent::Runtime;
use anyhow::Result;
use std::{io::Write, sync::Arc};

/// Prints the models, the default first.
pub(crate) async fn run(runtime: Arc<Runtime>) -> Result<u8> {
    // Waits the bounded time in which servers on this machine are found.
    let default = match &runtime.options().model {
        Some(model) => model.clone(),
        None => runtime.models().default_id().await,
    };
    let mut stdout = std::io::stdout().lock();
    for model in runtime.models().list() {
        let mark = if model.id == default { "*" } else { " " };
        let about = model.description.as_deref().unwrap_or(&model.name);
        if writeln!(stdout, "{mark} {:<40} {about}", model.id).is_err() {
            break;
        }
    }
    Ok(exit::OK)
}
