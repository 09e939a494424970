//! The Agent Client Protocol: the only crate that names its SDK.
//!
//! [`serve`] speaks it over a pair of byte streams, in the version that the client asks for. Bytes become lines in `transport`, lines become
//! messages in the SDK, which hands them to `v1` or `v2` as the first line (`dialect`) decided; a `dispatch` finds the handler, and that hands over to the [`agent::Runtime`].
//! What happens in a session comes back through `connection::client` and `connection::outbox`. A version is a `connection::Wire`: conversions, and
//! which methods there are; `connection` has what is the same in each, and `native` the events and requests for programs that are no editors. Where the client can read, write or run, sessions act through it by
//! way of [`system::System`]'s implementation in `system`.
//!
//! Architecture Invariant: no wire type leaves this crate, and no handler waits for the client or the model inside the dispatch loop.

mod connection;
mod dialect;
pub mod facts;
mod legacy;
mod limits;
pub mod native;
mod options;
mod serve;
mod system;
pub mod testing;
mod transport;
mod v1;
#[cfg(feature = "v2")]
mod v2;

pub use limits::{CLIENT_TIMEOUT, FRAME_BYTES};
pub use options::{AcpOptions, ClientTools, Events, Protocol, TerminalPlace};
pub use serve::{ServeError, serve};
