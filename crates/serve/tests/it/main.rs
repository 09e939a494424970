//! Integration tests: the server and its client over pipes, with a scripted application.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::disallowed_methods, reason = "these tests are clients of real sockets")]

mod admin;
mod application;
// Only Linux has the loopback addresses that the cases come from.
#[cfg(target_os = "linux")]
mod credentials;
mod cuts;
mod http;
mod node;
mod proxy;
mod raw;
mod resume;
mod revocation;
mod sequences;
mod sizes;
mod tokens;
