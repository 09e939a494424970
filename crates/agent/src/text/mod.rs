//! Text and JSON: cleaned for display, cut at a limit, measured.

pub(crate) mod cut;
pub(crate) mod halves;
pub(crate) mod json_bytes;
pub(crate) mod panic;
pub(crate) mod plain;
pub(crate) mod redact;
pub(crate) mod sanitise;
