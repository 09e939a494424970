//! The native layer: what programs that are not editors need in addition to the protocol. Its
//! events describe a session's state as a terminal would show it. See docs/native-layer.md.
//!
//! One table, two names: everything is served as `_tiller/NAME`, because the protocol reserves the
//! underscore for extensions, and as `kosmokrator/NAME`, for clients of that wire, with two
//! aliases. An event is sent under one prefix only, the one under which the client requested
//! events.
//!
//! Architecture Invariant: `projection` is the third projection of the same
//! [`agent::SessionEvent`]s, beside `v1` and `v2`, and shares their output queue. Every native
//! event follows from them, and none is sent to a client that did not ask for it.

mod capabilities;
mod entries;
mod event;
mod events_switch;
mod fields;
mod frame;
mod memories;
mod names;
mod projection;
mod requests;
mod route;
mod running_request;
#[cfg(test)]
mod schema;
mod services;
mod sessions;
mod settings_keys;
mod shells;
mod subagents;
mod tree;
mod trust;
mod work;

pub(crate) use capabilities::announce;
pub(crate) use event::{Event, send};
pub(crate) use events_switch::EventsSwitch;
pub(crate) use frame::{Frame, StateKind, Step};
pub(crate) use names::Prefix;
pub(crate) use projection::{Projection, delta};
pub(crate) use route::route;
pub use services::{
    AddServer, CallFunction, CallTool, ConfigureIntegration, ConfigureProvider, ExecuteLua, Hidden,
    ListFunctions, ListMemories, ListTools, LuaRuntime, LuaSource, NativeServices, NoServices, Permissions,
    RequestContext, Scope, ServiceError, SetSecret, SetSetting, TrustGrant,
};
pub(crate) use settings_keys::with_kosmokrator_keys;

/// The JSON Schema of the native layer, as one document: `events` by type, `requests` by method,
/// shared types in `$defs`.
///
/// Generated from the types and checked against them by a test, so that the product does not
/// contain the generator.
pub const SCHEMA: &str = include_str!("../../../../clients/schema/native.json");
