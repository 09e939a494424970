//! Skills and commands that the user, or a trusted project, keeps in Markdown files.
//!
//! A skill is a directory with a SKILL.md. Models get its name and description; the tool `skill`
//! returns its text, and file tools read its other files. A command is a Markdown file whose text
//! is sent in place of a slash command. Both are read again at the beginning of each turn.
//!
//! Architecture Invariant: an item of the project is read by models, or offered to users, only if
//! [`FolderTrust`](crate::FolderTrust) covers the very text that is used.

mod arguments;
mod candidates;
mod command_file;
mod find;
mod finder;
mod front_matter;
mod items;
mod loaded;
mod manifest;
mod overview;
mod places;
mod session;
mod source;
mod tool;

pub use command_file::CommandFile;
pub use find::{Found, FoundState, SkillSet, check_skill, find_skills};
pub use finder::SkillFinder;
pub use items::project_skills;
pub use loaded::Skill;
pub use manifest::{Manifest, StartedBy};
pub use places::{Origin, UserPlaces};
pub use source::SkillProvider;

#[cfg(test)]
mod tests;
