//! Language models: vendors over HTTP and SSE, loopback servers, the offline pilot, replay.
//!
//! [`Catalog`] is the entry point. It lists models and hands out [`agent::LanguageModel`]s by id;
//! building it opens no connection and reads no certificate. Behind it, a module per wire format
//! (`chat`, `responses`, `anthropic`, `gemini`) converts requests and streamed answers, and
//! `remote` sends requests over `http` and handles retries and timeouts.
//!
//! Architecture Invariant: this is the only crate that names a vendor's API or speaks HTTP to one.
//! A vendor's names must never leave its `request` and `stream` modules. The crate must never read
//! the environment or a settings file (everything comes in as [`ProvidersOptions`]), or print an
//! API key ([`Secret`]).

mod anthropic;
mod browser_login;
mod call_ids;
mod catalog;
mod chat;
mod discovery;
mod family;
mod fields;
#[cfg(test)]
mod fixture;
mod gemini;
mod guided;
mod hosts;
mod http;
mod known;
pub mod limits;
mod model_table;
mod options;
mod parts;
pub mod pilot;
mod refused_options;
mod remote;
mod replay;
mod responses;
mod secret;
mod sink;
mod sse;
mod stored_file;
mod wire_format;

pub use browser_login::{BrowserLogin, LoginError};
pub use catalog::{Catalog, CatalogueSource, Listing, ProviderCheck};
pub use discovery::{local_addresses, ollama_address};
pub use http::{HttpClients, NamedAddresses, verified_tls};
pub use known::{KNOWN_PROVIDERS, KnownProvider, known_provider};
pub use model_table::{CATALOGUE_URL, RefreshError};
pub use options::{
    AttemptOptions, LocalOptions, ProvidersOptions, RecordingOptions, VendorOptions, VendorsOptions, Wire,
};
pub use secret::Secret;
