//! Nothing that others say reaches the terminal as a control sequence, hides, or imitates a panel.
//!
//! Tests only. [`control`] reads all bytes that are written; [`corpus`] has texts of attackers and
//! puts them into every field that reaches the interface; [`stage`] plays the interface on each
//! screen against a terminal emulator.

mod colours;
pub(crate) mod control;
pub(crate) mod corpus;
pub(crate) mod emulator;
mod fields;
mod hostile;
mod input;
mod invariant;
mod notices;
mod sequences;
mod sizes;
pub(crate) mod stage;
