//! The network below the protocol: listeners, credentials, and the two wires that carry lines.
//!
//! This crate knows the methods of the protocol by name only where the wire depends on them
//! (`initialize`, `session/cancel`): it authenticates a request, turns WebSocket frames and HTTP
//! requests into the same lines that stdin and stdout carry, and hands them to an [`Application`].
//!
//! A connection outlives the sockets that carry it: both sides count their messages, and a client
//! that comes back continues after the last message that it received.
//!
//! Architecture Invariant: nothing of a request is read or allocated before its credential was
//! checked, and no message is counted by two sockets. This crate must never interpret a message of
//! the protocol beyond its head.

mod access;
pub mod admin;
mod application;
pub mod auth;
pub mod connect;
mod connection;
mod http;
pub mod limits;
mod listen;
mod load;
mod message;
mod nodes;
mod operators;
mod server;
mod telemetry;

pub use access::Access;
pub use application::{Application, Carried, EndReason, Presence, Unreadable};
pub use http::{Names, Problem};
pub use listen::{CertificateFiles, ListenError, Listener, Proxies, TlsError};
pub use load::{AskStore, Load, Probes};
pub use nodes::{Abandoned, Directory, Drain, Holder, NodeAddress, NodeOptions};
pub use operators::Operators;
pub use server::{ServeOptions, Server};
pub use telemetry::Metrics;
