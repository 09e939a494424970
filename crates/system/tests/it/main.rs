//! Confined commands of the local machine, through the launcher of this crate.
#![cfg(target_os = "linux")]
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "the tests look at the disk from outside of the system they test, and may fail anywhere"
)]

mod birth;
mod litter;
mod names;
mod sandbox;
mod wall;
