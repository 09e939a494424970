//! The network below the protocol: listeners, credentials, and the two wires that carry lines.
//!
//! This crate knows no method of the protocol but `initialize`: it authenticates a connection,
//! turns WebSocket frames and HTTP requests into the same lines that stdin and stdout carry, and
//! hands them to an application.

pub mod auth;
