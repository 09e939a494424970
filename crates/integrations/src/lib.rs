//! Integrations: the API of a service as functions `provider.function`, made from an OpenAPI document or from a small curated list.
//!
//! An [`Integration`] is what is known of a service; a [`Catalogue`] holds all that there are. [`Gates`] say whether a function may be called now, and
//! [`Caller`] calls it: it fills in the account's credentials, keeps to public addresses, tries again where that is safe, and bounds what comes back.
//! [`IntegrationTool`] is a function as one of the agent's tools.
//!
//! Architecture Invariant: the only crate that speaks HTTP to services. It prints nothing and reads no file: documents, credentials and settings are
//! handed to it. The address that is connected to is the one that was checked.

mod account;
mod arguments;
mod auth;
mod builtin;
mod caller;
mod catalogue;
mod client;
mod gates;
mod guard;
mod integration;
mod limits;
mod manifest;
mod names;
mod openapi;
mod outcome;
mod pages;
mod request;
mod retry;
mod token;
mod tool;
mod upload;

pub use account::{Account, Accounts, BASE_URL, DEFAULT_ACCOUNT, LOCAL};
pub use arguments::{ArgumentError, Given, merged};
pub use auth::{Field, Scheme};
pub use builtin::built_in;
pub use caller::{Call, Caller, Unmade};
pub use catalogue::Catalogue;
pub use client::{Client, ClientFactory, Network};
pub use gates::{Blocked, Gates, Permission, Permissions, Switches};
pub use guard::Guard;
pub use integration::{Function, Integration, Operation, Origin, Pages, Parameter, Place, Written};
pub use limits::DOCUMENT_BYTES;
pub use manifest::{Manifest, ManifestError, Override};
pub use names::{integration_name, tool_name};
pub use openapi::{DocumentError, parse as parse_document, trimmed};
pub use outcome::Outcome;
pub use tool::IntegrationTool;
pub use upload::Files;
