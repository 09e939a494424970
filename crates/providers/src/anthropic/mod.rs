//! Anthropic Messages.

mod answer;
mod request;
mod stream;
mod thinking_binding;

use crate::{http::Endpoint, wire_format::WireFormat};

/// The API version that requests name.
const VERSION: &str = "2023-06-01";

/// The key under which this wire stores its own form of items.
const WIRE: &str = "anthropic";

/// The wire format.
pub(crate) static FORMAT: WireFormat = WireFormat {
    endpoint: |base_url, _| Endpoint::versioned(base_url, "messages"),
    list: |base_url| Endpoint::versioned_beside(base_url, "messages", "models"),
    authorize: |endpoint, key| endpoint.header("anthropic-version", VERSION).key("x-api-key", key),
    options: request::OPTIONS,
    body: request::body,
    fold: || Box::<stream::AnthropicFold>::default(),
};
