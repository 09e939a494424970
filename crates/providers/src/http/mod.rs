//! HTTP for all wires: clients, endpoints, exchanges, retries, and the classification of failures.

mod body;
mod client;
mod endpoint;
mod exchange;
mod failure;
mod fold;
mod retry;

pub(crate) use client::Http;
pub use client::HttpClients;
pub(crate) use endpoint::{Endpoint, is_loopback, is_near, shown};
pub(crate) use exchange::Exchange;
pub(crate) use failure::{Failure, Peer};
pub(crate) use fold::{Fold, Tuning};
