//! File state of sessions: what the editor shows, which file contents the model has seen, the full
//! text of long results, the directories that may be read, and what git has checked out.

pub(crate) mod checkout;
pub(crate) mod editor;
pub(crate) mod fingerprint;
pub(crate) mod freshness;
pub(crate) mod identity;
pub(crate) mod outputs;
pub(crate) mod readable;
mod recent;
pub(crate) mod repository;
