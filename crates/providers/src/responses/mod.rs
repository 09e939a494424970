//! OpenAI Responses, without state on the server.

mod answer;
mod request;
mod stream;

use crate::{
    Secret,
    http::{Endpoint, Fold},
    refused_options::RequestOption,
    wire_format::{BodyInput, WireFormat},
};
use agent::ModelError;

/// The key under which this wire stores its own form of items.
const WIRE: &str = "responses";

/// The wire format.
pub(crate) struct Responses;

impl WireFormat for Responses {
    fn endpoint(&self, base_url: &str, _model: &str) -> Result<Endpoint, ModelError> {
        Endpoint::new(base_url, "responses")
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
        Box::<stream::ResponsesFold>::default()
    }
}
