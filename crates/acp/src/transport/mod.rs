//! The bytes on both sides of the protocol library: a reader that survives every bad line, a writer that says when it is idle.

mod checked;
mod lines;
mod shape;
mod writer;

pub(crate) use lines::{BAD_LINE, incoming};
pub(crate) use writer::{Gauge, LineSink, write_lines};
