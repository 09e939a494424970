//! Integration tests of the network of commands: real programs in a room, a judge of the test, and
//! a host on this machine in place of the internet.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "the tests may fail anywhere")]
#![expect(clippy::disallowed_methods, reason = "tests set up the world around the crate")]

mod backend;
mod connections;
mod git;
mod stage;
