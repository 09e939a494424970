//! The protocol's first version over the runtime.

mod client;
mod coalesce;
mod connection;
mod dispatch;
mod display;
mod elicitation;
mod errors;
mod from_acp;
mod handlers;
#[cfg(test)]
mod live_tests;
mod outbox;
mod reply;
mod settings;
mod tasks;
mod time;
mod to_acp;
mod update;

pub(crate) use connection::{Connection, Peer};
pub(crate) use dispatch::Dispatcher;
pub(crate) use outbox::Outbox;
