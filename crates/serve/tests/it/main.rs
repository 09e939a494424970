//! Integration tests: the server and its client over pipes, with a scripted application.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::print_stdout, reason = "a test with random cuts prints its seed")]

mod application;
mod credentials;
mod cuts;
mod http;
mod proxy;
mod raw;
mod resume;
mod tokens;
