//! Integration tests that run scripts.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod limits;
mod paths;
mod scripts;
mod turn;
