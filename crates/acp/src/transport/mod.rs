//! The byte streams on both sides of the SDK: a reader that survives every invalid line, and a
//! writer that reports its progress.

mod gauge;
mod head;
mod ids;
mod lines;
mod writer;

pub(crate) use gauge::Gauge;
pub(crate) use ids::Ids;
pub(crate) use lines::{Read, incoming, is_bad_line};
pub(crate) use writer::{LineSink, write_lines};
