//! OpenAI Chat Completions, the wire that nearly every server speaks.

mod answer;
mod extra_members;
mod message;
mod request;
mod stream;
mod tools_as_text;

use crate::{http::Endpoint, wire_format::WireFormat};

/// The wire format.
pub(crate) static FORMAT: WireFormat = WireFormat {
    endpoint: |base_url, _| Endpoint::new(base_url, "chat/completions"),
    list: |base_url| Endpoint::beside(base_url, "chat/completions", "models"),
    authorize: Endpoint::bearer,
    options: request::OPTIONS,
    body: request::body,
    fold: || Box::<stream::ChatFold>::default(),
};
