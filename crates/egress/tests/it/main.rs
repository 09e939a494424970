//! Integration tests of the network of commands: real programs in a room, a judge of the test, and
//! a host on this machine in place of the internet.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "the tests may fail anywhere")]

mod connections;
mod stage;
