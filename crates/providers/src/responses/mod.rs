//! OpenAI Responses, without state on the server.

mod request;
mod stream;

pub(crate) use request::{OPTIONS, body};
pub(crate) use stream::ResponsesFold;
