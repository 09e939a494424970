//! The user's text editor.

use crate::environment::Environment;
use anyhow::{Context as _, Result, bail};
use system::AbsPath;

/// The editor if no variable names one: POSIX requires it.
const FALLBACK: &str = "vi";

/// Opens a file in the user's editor, and waits until it exits.
///
/// # Errors
/// If the editor does not start, or reports a failure.
pub(crate) fn open(environment: &Environment, file: &AbsPath) -> Result<()> {
    let named = environment.get("VISUAL").or_else(|| environment.get("EDITOR"));
    let mut command: Vec<_> = named.unwrap_or(FALLBACK).split_whitespace().map(str::to_owned).collect();
    let program = command.first().cloned().unwrap_or_default();
    command.push(file.to_string());
    let ended = system::run_in_foreground(&command).with_context(|| {
        format!("the editor {program} did not start; set VISUAL or EDITOR to another one")
    })?;
    if !ended {
        bail!("the editor {program} reported a failure; nothing was changed");
    }
    Ok(())
}
