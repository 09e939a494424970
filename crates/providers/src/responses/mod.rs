//! OpenAI Responses, without state on the server.

mod answer;
mod request;
mod stream;

use crate::{http::Endpoint, wire_format::WireFormat};

/// The key under which this wire stores its own form of items.
const WIRE: &str = "responses";

/// The wire format.
pub(crate) static FORMAT: WireFormat = WireFormat {
    endpoint: |base_url, _| Endpoint::new(base_url, "responses"),
    list: |base_url| Endpoint::beside(base_url, "responses", "models"),
    authorize: Endpoint::bearer,
    options: request::OPTIONS,
    body: request::body,
    fold: || Box::<stream::ResponsesFold>::default(),
};
