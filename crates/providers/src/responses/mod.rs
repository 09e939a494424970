//! OpenAI Responses, without state on the server.

mod answer;
mod request;
mod stream;

pub(crate) use request::{OPTIONS, body};
pub(crate) use stream::ResponsesFold;

/// The name under which the wire keeps its own form of items.
const WIRE: &str = "responses";
