//! The bytes on both sides of the protocol library: a reader that survives every bad line, a writer that says when it is idle.

mod gauge;
mod head;
mod ids;
mod lines;
mod writer;

pub(crate) use gauge::Gauge;
pub(crate) use ids::Ids;
pub(crate) use lines::{Read, incoming, is_bad_line};
pub(crate) use writer::{LineSink, write_lines};
