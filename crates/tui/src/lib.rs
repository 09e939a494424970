//! The terminal interface: a client of the runtime that a person types into.
//!
//! Architecture Invariant: this crate must never name a wire, a vendor or a store, and must never
//! decide a permission. It shows the events of a session, answers its questions with what the user
//! types, and sends prompts through its handle. Every string from outside passes the sanitiser
//! before it becomes a cell, and `terminal` is the only module that writes to the terminal.
//!
//! Read `app/mod.rs` first.

pub mod app;
pub mod client;
pub mod composer;
pub mod diff;
pub mod driver;
pub mod field;
pub mod fuzzy;
pub mod highlight;
pub mod input;
pub mod keys;
pub mod limits;
pub mod look;
pub mod markdown;
pub mod options;
pub mod panel;
pub mod picker;
pub mod run;
pub mod screens;
pub mod settings;
pub mod shown;
pub mod terminal;
pub mod text;
pub mod theme;
pub mod transcript;

#[cfg(test)]
mod safety;
#[cfg(test)]
mod sketches;
