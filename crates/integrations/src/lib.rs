//! Integrations: the API of a service as functions `provider.function`, described by an OpenAPI
//! document or by a small built-in list.
//!
//! An [`Integration`] describes a service; a [`Catalogue`] holds all integrations. [`Gates`] decide
//! whether a function may be called now, and [`Caller`] calls it: it adds the account's
//! credentials, connects only to permitted addresses, retries where that is safe, and limits the
//! size of responses. [`IntegrationTool`] is a function as one of the agent's tools.
//!
//! [`Web`] fetches pages and searches the web, through the same guarded client; [`WebTools`] gives
//! sessions the tools for it.
//!
//! [`download_release_file`] fetches the files of a release of this program, for its update.
//!
//! Architecture Invariant: no other crate speaks HTTP to services. This crate must never connect to
//! an address that was not checked, print, or read a file by itself: documents, credentials,
//! settings and the system for uploads are passed in.

mod account;
mod added;
mod arguments;
mod auth;
mod builtin;
mod caller;
mod catalogue;
mod client;
mod document;
mod gates;
mod guard;
mod integration;
mod limits;
mod manifest;
mod names;
mod openapi;
mod outcome;
mod pages;
mod release;
mod request;
mod retry;
mod token;
mod tool;
mod upload;
mod web;

pub use account::{Account, Accounts, BASE_URL, DEFAULT_ACCOUNT, LOCAL};
pub use added::read_added;
pub use arguments::{ArgumentError, RawArguments, merge};
pub use auth::{Field, Scheme};
pub use builtin::built_in;
pub use caller::{Call, CallError, Caller};
pub use catalogue::Catalogue;
pub use client::{Client, ClientFactory, Network};
pub use document::get_document;
pub use gates::{Blocked, Gates, Permission, Permissions, Switches};
pub use guard::{AddressGuard, check_for_users};
pub use integration::{
    Address, Auth, BodyEncoding, Endpoint, Function, Integration, Operation, Origin, Pages, Parameter, Place,
};
pub use limits::DOCUMENT_BYTES;
pub use manifest::{Manifest, ManifestError, Override};
pub use names::{integration_name, tool_name};
pub use openapi::{DocumentError, parse as parse_document, trimmed};
pub use outcome::{CallMeta, Outcome};
pub use release::{ReleaseError, download_release_file};
pub use tool::IntegrationTool;
pub use upload::Files;
pub use web::{
    Domains, Fetch, FetchError, Fetched, Page, Search, SearchError, SearchOptions, SearchProvider,
    SearchResult, Web, WebOptions, WebTools, WebUrl, WebUrlError,
};
