//! OpenAI Chat Completions, the wire that nearly every server speaks.

mod answer;
mod extra_members;
mod message;
mod request;
mod stream;
mod tools_as_text;

use crate::{
    Secret,
    http::{Endpoint, Fold},
    refused_options::RequestOption,
    wire_format::{BodyInput, WireFormat},
};
use agent::ModelError;

/// The wire format.
pub(crate) struct Chat;

impl WireFormat for Chat {
    fn endpoint(&self, base_url: &str, _model: &str) -> Result<Endpoint, ModelError> {
        Endpoint::new(base_url, "chat/completions")
    }

    fn list(&self, base_url: &str) -> Result<Endpoint, ModelError> {
        Endpoint::new(base_url, "models")
    }

    fn authorize(&self, endpoint: Endpoint, key: Option<&Secret>) -> Result<Endpoint, ModelError> {
        endpoint.bearer(key)
    }

    fn options(&self) -> &'static [&'static RequestOption] {
        request::OPTIONS
    }

    fn body(&self, input: &BodyInput<'_>) -> Vec<u8> {
        request::body(input)
    }

    fn fold(&self) -> Box<dyn Fold> {
        Box::<stream::ChatFold>::default()
    }
}
