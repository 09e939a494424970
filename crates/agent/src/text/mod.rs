//! Text and JSON: cleaned for display, cut at a limit, measured.

pub(crate) mod halves;
pub(crate) mod json_bytes;
pub(crate) mod plain;
pub(crate) mod redact;
pub(crate) mod sanitise;
