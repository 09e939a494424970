//! Text on standard input.

use crate::{failure::usage, limits::STDIN_BYTES};
use anyhow::{Context as _, Result};
use std::io::Read as _;

/// Reads all of stdin.
pub(crate) fn read_stdin() -> Result<String> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(STDIN_BYTES + 1).read_to_end(&mut bytes).context("stdin cannot be read")?;
    if bytes.len() as u64 > STDIN_BYTES {
        return Err(usage(format!("stdin is larger than {STDIN_BYTES} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| usage("stdin is not UTF-8 text"))
}
