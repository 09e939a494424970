//! What a wire format provides: addresses, request bodies, and a parser for streamed answers.

use crate::{
    Secret,
    http::{Endpoint, Fold},
    refused_options::{ModelQuirks, RequestOption},
};
use agent::{ModelError, ModelInfo, ModelRequest};

/// A wire format.
pub(crate) trait WireFormat: Sync {
    /// Returns the address for requests to a model, without headers.
    fn endpoint(&self, base_url: &str, model: &str) -> Result<Endpoint, ModelError>;

    /// Returns the address of the server's list of models, without headers.
    fn list(&self, base_url: &str) -> Result<Endpoint, ModelError>;

    /// Adds the headers that every request needs, including the credentials.
    fn authorize(&self, endpoint: Endpoint, key: Option<&Secret>) -> Result<Endpoint, ModelError>;

    /// The request options that a body can leave out.
    fn options(&self) -> &'static [&'static RequestOption];

    /// Builds the body of a request.
    fn body(&self, input: &BodyInput<'_>) -> Vec<u8>;

    /// Returns a new parser for an answer.
    fn fold(&self) -> Box<dyn Fold>;
}

/// What the body of a request is built from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BodyInput<'a> {
    pub(crate) request: &'a ModelRequest,
    pub(crate) info: &'a ModelInfo,
    /// The model's name at the provider.
    pub(crate) model: &'a str,
    /// What the server has refused before.
    pub(crate) quirks: &'a ModelQuirks,
    /// Whether the server is OpenAI's own, which accepts parameters that other servers reject.
    pub(crate) is_openai: bool,
}

impl BodyInput<'_> {
    /// Returns the limit of the answer in tokens, at least 1.
    pub(crate) fn max_output(&self) -> u64 {
        let most = self.info.max_output;
        self.request.max_output.unwrap_or(most).min(most).max(1)
    }
}
