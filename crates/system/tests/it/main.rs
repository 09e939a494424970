//! Integration tests of the local machine: confined commands run through this crate's own launcher.
#![cfg(target_os = "linux")]
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "the tests look at the disk from outside of the system they test, and may fail anywhere"
)]

mod birth;
mod folders;
mod generated;
mod litter;
mod names;
mod room;
mod sandbox;
mod wall;
mod writers;
