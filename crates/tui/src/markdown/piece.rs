//! A piece of Markdown that is rendered by itself.

use std::ops::Range;

/// A piece of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// What it is.
    pub kind: PieceKind,
    /// Its bytes in the text.
    pub range: Range<usize>,
    /// Whether it follows the piece before without an empty row between them.
    pub joins: bool,
}

/// The kind of a piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PieceKind {
    /// A paragraph, heading, quotation, table or rule, or a part of a long one.
    Text,
    /// A list item of the outermost list with its marker.
    Item {
        /// Its number, in an ordered list.
        number: Option<u64>,
    },
    /// The rest of a list item, after code or a part of it.
    ItemRest {
        /// The indentation of the item's content, in columns.
        indent: usize,
    },
    /// The beginning of a fence.
    CodeStart {
        /// The bytes of its info string: the language.
        language: Range<usize>,
        /// The columns before the fence, which its lines have too.
        indent: usize,
    },
    /// A line of code.
    Code,
    /// The end of a fence.
    CodeEnd,
    /// A row of a table that is too long to be aligned.
    TableRow,
}
