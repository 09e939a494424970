//! OpenAI Chat Completions, the wire that nearly every server speaks.

mod answer;
mod extra_members;
mod request;
mod stream;
mod tools_as_text;

pub(crate) use request::{OPTIONS, body};
pub(crate) use stream::ChatFold;

/// The key under which this wire stores its own form of items.
const WIRE: &str = "chat";
