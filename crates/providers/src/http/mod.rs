//! HTTP for all wires: clients, endpoints, delays between attempts, and the classification of
//! failures.

mod body;
mod client;
mod endpoint;
mod failure;
mod fold;
mod retry;

pub(crate) use body::{not_a_stream, read_up_to};
pub(crate) use client::Http;
pub use client::{HttpClients, NamedAddresses, verified_tls};
pub(crate) use endpoint::{Endpoint, is_loopback, is_near, shown};
pub(crate) use failure::{Failure, Peer, root_cause};
pub(crate) use fold::{Fold, Tuning, on_data, too_long};
pub(crate) use retry::{retry_after, waits};
