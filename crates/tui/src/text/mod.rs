//! Styled text: rows, their width, and wrapping.

pub mod row;
