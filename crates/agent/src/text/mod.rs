//! Text, JSON and YAML: sanitising for display, truncation, measuring, parsing.

pub(crate) mod colours;
pub(crate) mod cut;
pub(crate) mod file_uri;
pub(crate) mod host;
pub(crate) mod json_bytes;
pub(crate) mod mention;
pub(crate) mod panic;
pub(crate) mod plain;
pub(crate) mod redact;
pub(crate) mod sanitise;
pub(crate) mod similar;
pub(crate) mod surrogates;
pub(crate) mod tag;
pub(crate) mod yaml;
