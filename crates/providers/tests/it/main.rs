//! The wires against a server that misbehaves on purpose.

mod catalog;
mod exchange;
mod faker;
mod mangled;
mod pace;
mod recording;
mod support;
