//! The Agent Client Protocol (ACP) server: the only crate that names the protocol's SDK.
//!
//! [`serve()`] speaks ACP over a pair of byte streams, in the version that the client requests.
//! `transport` splits bytes into lines; the SDK parses lines into messages. The first line
//! (`dialect`) selects `v1` or `v2`, whose dispatcher finds the handler; the handler delegates to
//! the [`agent::Runtime`]. Session events reach the client through `connection::client` and
//! `connection::outbox`. A protocol version is a `connection::Wire`: its conversions and its
//! methods. `connection` holds the code that the versions share, `native` the events and requests
//! for programs that are not editors, and `legacy` an older dialect. Where the client offers files
//! or terminals, sessions use them through `system`, an implementation of `system::System`.
//!
//! Architecture Invariant: no wire type leaves this crate, and no handler waits for the client or
//! the model inside the dispatch loop.

pub mod client_facts;
mod connection;
mod dialect;
mod legacy;
mod limits;
pub mod native;
mod options;
mod serve;
mod system;
pub mod testing;
mod transport;
mod v1;
mod v2;

pub use limits::{CLIENT_TIMEOUT, FRAME_BYTES};
pub use options::{AcpOptions, ClientTools, Events, Protocol, TerminalPlace};
pub use serve::{ServeError, serve};
