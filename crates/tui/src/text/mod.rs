//! Styled text: rows, their width in cells, wrapping and cutting.

pub mod clean;
pub mod cut;
pub mod link;
pub mod measure;
pub mod row;
pub mod wrap;

#[cfg(test)]
mod tests;
