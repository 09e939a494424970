//! Recorded model traffic: written by a wrapper around any model, played back by `replay/FILE`.
//!
//! A recording is a text file of JSON lines: a header with the format's version and the model, then one line for each request with
//! the events that answered it. It holds what was said, so it is as private as the session; keys are never in it.

mod format;
mod play;
mod record;

pub(crate) use play::ReplayModel;
pub(crate) use record::{Recorder, RecordingModel};
