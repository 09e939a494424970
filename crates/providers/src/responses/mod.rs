//! OpenAI Responses, without state on the server.

mod answer;
mod request;
mod stream;

pub(crate) use request::{OPTIONS, body};
pub(crate) use stream::ResponsesFold;

/// The key under which this wire stores its own form of items.
const WIRE: &str = "responses";
