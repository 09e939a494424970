//! Recorded model traffic: written by a wrapper around any model, played back by `replay/FILE`.
//!
//! A recording is a text file of JSON lines: a header with the format version and the model, then
//! one line per request with the events of its answer. It contains the conversation, so it is as
//! private as the session; it never contains keys.

mod format;
mod play;
mod record;

pub(crate) use play::ReplayModel;
pub(crate) use record::{Recorder, RecordingModel};
