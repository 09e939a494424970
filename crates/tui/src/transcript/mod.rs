//! What happened in a session, as cells.
//!
//! [`Transcript`] is a projection of the session's events, like those of the protocols: a live
//! session, a stored one and one that is joined give the same cells, except for what is not stored
//! (notices). [`Feed`] decides what of it is committed to the scrollback; [`View`] shows all of it
//! with folding and search.

pub mod cell;
pub mod feed;
pub mod output;
mod projection;
pub mod rows;
#[cfg(test)]
mod tests;
pub mod view;

pub use cell::{Body, Cell, CompactionCell, CompactionEnd, Said, ToolCell, UserMessage};
pub use feed::{Feed, Step};
pub use output::Output;
pub use projection::Transcript;
pub use view::View;
