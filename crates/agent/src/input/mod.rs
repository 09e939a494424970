//! Special parts of a prompt: slash commands, links to files, mentions of a source's resources,
//! images.

pub(crate) mod attachments;
pub(crate) mod commands;
pub(crate) mod images;
pub(crate) mod mentions;
mod review;
