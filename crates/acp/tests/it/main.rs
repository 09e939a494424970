//! Whole conversations between a scripted editor and the runtime, over a real pipe.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod auth;
mod conversation;
mod delegated;
mod hostile;
mod ide;
mod legacy;
mod methods;
mod native;
mod replay;
mod rewind;
#[cfg(feature = "v2")]
mod second;
mod shared;
mod stage;
mod wire;
