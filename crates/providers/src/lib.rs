//! Language models: vendors over HTTP and SSE, loopback servers, the offline pilot, replay.
//!
//! Architecture Invariant: this is the only crate that names a vendor's API. Everything goes through [`Catalog`], which hands out
//! [`agent::LanguageModel`]s by id; building it opens no connection and reads no certificate.

mod anthropic;
mod call_ids;
mod catalog;
mod catalogue;
mod chat;
mod discovery;
mod family;
mod fields;
#[cfg(test)]
mod fixture;
mod gemini;
mod http;
mod learned;
pub mod limits;
mod options;
mod parts;
pub mod pilot;
mod remote;
mod replay;
mod responses;
mod secret;
mod sink;
mod sse;

pub use catalog::{Catalog, CatalogueSource, Listing};
pub use catalogue::{CATALOGUE_URL, RefreshError};
pub use discovery::ollama_address;
pub use http::HttpClients;
pub use options::{LocalOptions, ProvidersOptions, VendorOptions, Wire};
pub use secret::Secret;
