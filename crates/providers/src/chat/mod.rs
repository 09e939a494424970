//! OpenAI Chat Completions, the wire that nearly every server speaks.

mod request;
mod stream;

pub(crate) use request::{OPTIONS, body};
pub(crate) use stream::ChatFold;
