//! Anthropic Messages.

mod answer;
mod request;
mod stream;
mod thinking_binding;

use crate::{
    Secret,
    http::{Endpoint, Fold},
    refused_options::RequestOption,
    wire_format::{BodyInput, WireFormat},
};
use agent::ModelError;

/// The API version that requests name.
const VERSION: &str = "2023-06-01";

/// The key under which this wire stores its own form of items.
const WIRE: &str = "anthropic";

/// The wire format.
pub(crate) struct Anthropic;

impl WireFormat for Anthropic {
    fn endpoint(&self, base_url: &str, _model: &str) -> Result<Endpoint, ModelError> {
        Endpoint::versioned(base_url, "messages")
    }

    fn list(&self, base_url: &str) -> Result<Endpoint, ModelError> {
        Endpoint::versioned(base_url, "models")
    }

    fn authorize(&self, endpoint: Endpoint, key: Option<&Secret>) -> Result<Endpoint, ModelError> {
        endpoint.header("anthropic-version", VERSION).key("x-api-key", key)
    }

    fn options(&self) -> &'static [&'static RequestOption] {
        request::OPTIONS
    }

    fn body(&self, input: &BodyInput<'_>) -> Vec<u8> {
        request::body(input)
    }

    fn fold(&self) -> Box<dyn Fold> {
        Box::<stream::AnthropicFold>::default()
    }
}
