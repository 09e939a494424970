//! The Agent Client Protocol (ACP) server: the only crate that names the protocol's SDK.
//!
//! [`serve()`] speaks ACP over a pair of byte streams, in the version that the client requests.
//! `transport` splits bytes into lines, the SDK parses lines into messages, and the first line
//! (`dialect`) selects `v1` or `v2`: a `connection::Wire`, its messages, and a
//! `connection::Version`, its sessions and methods. Handlers delegate to the [`agent::Runtime`].
//! `connection` is what the versions share; it also brings session events to the client. `native`
//! serves programs that are not editors, `legacy` an older dialect, and `v1::system` is the
//! `system::System` that acts through the editor.
//!
//! Architecture Invariant: no wire type leaves this crate. A handler must never wait for the client
//! or the model inside the dispatch loop, and the crate must never decide a permission: it only
//! asks the user.

pub mod client_facts;
mod connection;
mod dialect;
mod legacy;
mod limits;
mod link;
pub mod native;
mod options;
mod serve;
pub mod testing;
mod transport;
mod v1;
mod v2;

pub use limits::{CLIENT_TIMEOUT, FRAME_BYTES};
pub use link::{AfterEnd, Link, OnDisconnect, Pipe, TraceContext};
pub use options::{
    AcpOptions, ClientBounds, ClientTools, Events, Identity, Machines, Protocol, TerminalPlace,
};
pub use serve::{ServeError, serve};
