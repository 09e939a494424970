//! The wires against a server that misbehaves on purpose.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod append_only;
mod catalog;
mod clumsy;
mod echo;
mod exchange;
mod faker;
mod gemini;
mod hosted_search;
mod learned;
mod lister;
mod mangled;
mod own_answers;
mod pace;
mod recording;
mod refresh;
mod refusals;
mod servers;
mod support;
