//! The native layer: what a program that is no editor needs beside the protocol. Events tell a session's state as a terminal would show it;
//! docs/native-layer.md has the whole of it.
//!
//! One table, two names: everything is served as `_tiller/NAME`, because the protocol reserves the underscore for extensions, and as
//! `kosmokrator/NAME`, for clients of that wire, with two aliases. An event is sent in one spelling only, that of whoever opted in.
//!
//! Architecture Invariant: `projection` is the third projection of the same [`agent::SessionEvent`]s, beside `v1` and `v2`, and shares their way
//! out. Nothing is made up here that those do not follow from, and nothing is sent to a client that did not ask for it.

mod capabilities;
mod ending;
mod event;
mod fields;
mod names;
mod projection;
mod requests;
mod route;
#[cfg(test)]
mod schema;
mod services;
mod shape;
mod switch;
mod tree;
mod trust;

pub(crate) use capabilities::announce;
pub(crate) use event::{Event, Frame, send};
pub(crate) use names::Prefix;
pub(crate) use projection::{Projection, StateKind, Step, delta};
pub(crate) use route::route;
pub use services::{
    AddServer, CallFunction, CallTool, ConfigureIntegration, ConfigureProvider, ExecuteLua, GiveTrust,
    Hidden, ListFunctions, ListTools, LuaRuntime, LuaSource, NativeServices, NoServices, Permissions, Scene,
    Scope, ServiceError, SetSecret, SetSetting,
};
pub(crate) use shape::with_seed_keys;
pub(crate) use switch::Switch;

/// The JSON Schema of this layer, as one document: `events` by type, `requests` by method, shared types in `$defs`. Made from the types, and held
/// against them by a test, so that the program itself is built without what makes it.
pub const SCHEMA: &str = include_str!("../../../../clients/schema/native.json");
