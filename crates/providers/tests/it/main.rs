//! The wires against a server that misbehaves on purpose.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod catalog;
mod echo;
mod exchange;
mod faker;
mod mangled;
mod pace;
mod recording;
mod support;
