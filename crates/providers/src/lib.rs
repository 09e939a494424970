//! Language models: vendors over HTTP and SSE, loopback servers, the offline pilot, replay.
//!
//! [`Catalog`] is the entry point. It lists models and hands out [`agent::LanguageModel`]s by id;
//! building it opens no connection and reads no certificate. Behind it, a module per wire format
//! (`chat`, `responses`, `anthropic`, `gemini`) converts requests and streamed answers, and `http`
//! sends requests and handles retries and timeouts.
//!
//! Architecture Invariant: this is the only crate that names a vendor's API or speaks HTTP to one.
//! A vendor's names never leave its `request` and `stream` modules. The crate never reads the
//! environment or a settings file: everything comes in as [`ProvidersOptions`]. API keys are held
//! as [`Secret`], which is never printed.

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
mod guided;
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
