//! What a prompt may hold beside text: slash commands, links to files, mentions of what a source has.

pub(crate) mod attachments;
pub(crate) mod commands;
pub(crate) mod mentions;
