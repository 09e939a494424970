//! Per-session file state: which file contents the model has seen, and the full text of long
//! results.

pub(crate) mod freshness;
pub(crate) mod outputs;
mod recent;
pub(crate) mod repository;
