//! The checks of the doctor, one file for each subject. None of them changes anything.

mod extensions;
mod files;
mod keys;
mod machine;
mod models;
mod online;
mod terminal;
mod themes;

pub(super) use extensions::extensions;
pub(super) use files::{Repair, files, secrets};
pub(super) use keys::keys;
pub(super) use machine::{disk, editors, install, leases, sandbox, server};
pub(super) use models::{models, providers};
pub(super) use online::{online, startup};
pub(super) use terminal::terminal;
pub(super) use themes::themes;
