//! The Agent Client Protocol: the only crate that names its SDK.
//!
//! [`serve`] speaks version 1 over a pair of byte streams. Bytes become lines in `transport`, lines become messages in the SDK, messages reach
//! `v1::dispatch`, and `v1::handlers` hand them to the [`agent::Runtime`]. What happens in a session comes back through `connection::client` and
//! `connection::outbox`. What is the same in every version is in `connection`; a version is a `connection::Wire`. Where the client can read, write or run, sessions act through it by way of [`system::System`]'s implementation in `system`.
//!
//! Architecture Invariant: no wire type leaves this crate, and no handler waits for the client or the model inside the dispatch loop.

mod connection;
mod limits;
mod options;
mod serve;
mod system;
pub mod testing;
mod transport;
mod v1;

pub use limits::{CLIENT_TIMEOUT, FRAME_BYTES};
pub use options::{AcpOptions, ClientTools, TerminalPlace};
pub use serve::{ServeError, serve};
