//! How frames get to the terminal: inline, in full screen, or as plain lines.

mod background;
mod cells;
pub mod frame;
pub mod full;
pub mod inline;
pub mod plain;
pub mod terminal;
#[cfg(test)]
mod tests;

pub use frame::{Frame, Rendering, Screen};
pub use terminal::{Options, Terminal, TerminalError};
