//! The byte streams on both sides of the SDK: a reader that survives every invalid line, and a
//! writer that reports its progress.

mod backpressure;
mod ids;
mod lines;
mod message_head;
mod writer;

pub(crate) use backpressure::Backpressure;
pub(crate) use ids::Ids;
pub(crate) use lines::{IncomingLine, incoming, is_bad_line};
pub(crate) use writer::{LineSink, write_lines};
