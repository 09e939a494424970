//! Renders Markdown while it is still being written.
//!
//! [`Splitter`] divides a text into pieces by its lines: a paragraph, a list item, a line of a
//! fence. A piece never changes once the splitter has returned it, whatever follows and however the
//! text was cut into chunks. [`Renderer`] makes rows of one piece at a time. So the cost of more
//! text is that of the unfinished piece, and committed rows are the same as those of the whole
//! text.
//!
//! The price: inline markup does not span two pieces, and reference links are shown as written.
//!
//! HTML is shown as text. A link shows its address, unless that is its text.

mod blocks;
mod code;
mod lines;
mod piece;
mod render;
mod splitter;
mod table;
#[cfg(test)]
pub(crate) mod tests;

pub use code::CodeLine;
pub use piece::{Piece, PieceKind};
pub use render::{Rendered, Renderer};
pub use splitter::Splitter;
