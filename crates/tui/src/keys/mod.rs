//! What keys do: one table of actions with their default keys, the user's changes to it, and the
//! lookup.
//!
//! `action.rs` is the table. A key is looked up in the place that has the keys, then everywhere;
//! where several actions of a place apply, the first of the table is performed. There is no leader
//! key and no function key, and every action has a key that works in any terminal.

pub mod action;
pub mod bindings;
pub mod listing;
pub mod reader;
pub mod situation;
pub mod spelling;
#[cfg(test)]
mod tests;

pub use action::Action;
pub use bindings::{Bindings, Match};
pub use reader::{KeyReader, Pressed};
pub use situation::{Place, Situation};
