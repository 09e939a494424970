//! `tiller models`: what can be chosen now.

use crate::{exit::Exit, screen, wiring::Wired};
use agent::Models;
use anyhow::Result;
use std::io::Write;

/// Prints the models, the default first.
pub(crate) async fn run(wired: &Wired) -> Result<Exit> {
    wired.catalog.discover().await;
    let default = wired.catalog.default_id().await;
    let mut stdout = screen::stdout();
    for model in wired.catalog.list() {
        let mark = if model.id == default { "*" } else { " " };
        let about = model.description.as_deref().unwrap_or(&model.name);
        if writeln!(stdout, "{mark} {:<40} {about}", model.id).is_err() {
            break;
        }
    }
    Ok(Exit::Ok)
}
