//! What a wire format provides: addresses, request bodies, and a parser for streamed answers.

use crate::{
    Secret,
    http::{Endpoint, Fold},
    refused_options::{ModelQuirks, RequestOption},
};
use agent::{ModelError, ModelInfo, ModelRequest};

/// A wire format.
pub(crate) struct WireFormat {
    /// Returns the address for requests to a model, given the base URL and the model's name.
    pub(crate) endpoint: fn(&str, &str) -> Result<Endpoint, ModelError>,
    /// Returns the address of the server's list of models, given the base URL.
    pub(crate) list: fn(&str) -> Result<Endpoint, ModelError>,
    /// Adds the headers that every request needs, including the credentials.
    pub(crate) authorize: fn(Endpoint, Option<&Secret>) -> Result<Endpoint, ModelError>,
    /// The request options that a body can leave out.
    pub(crate) options: &'static [&'static RequestOption],
    /// Builds the body of a request.
    pub(crate) body: fn(&BodyInput<'_>) -> Vec<u8>,
    /// Returns a new parser for an answer.
    pub(crate) fold: fn() -> Box<dyn Fold>,
}

impl WireFormat {
    /// Returns where and with which headers requests to a model are sent.
    pub(crate) fn endpoint_for(
        &self,
        base_url: &str,
        model: &str,
        key: Option<&Secret>,
    ) -> Result<Endpoint, ModelError> {
        (self.authorize)((self.endpoint)(base_url, model)?, key)
    }

    /// Returns where and with which headers the list of models is requested.
    pub(crate) fn list_for(&self, base_url: &str, key: Option<&Secret>) -> Result<Endpoint, ModelError> {
        (self.authorize)((self.list)(base_url)?, key)
    }
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
    /// Whether the model may use the web search that its vendor hosts.
    pub(crate) hosted_search: bool,
}

impl BodyInput<'_> {
    /// Returns whether the request offers the web search that the vendor hosts. A request without
    /// tools, such as one for a summary, does not.
    pub(crate) fn searches(&self, option: &RequestOption) -> bool {
        self.hosted_search && !self.request.tools.is_empty() && self.quirks.accepts(option)
    }

    /// Returns the limit of the answer in tokens, at least 1.
    pub(crate) fn max_output(&self) -> u64 {
        let most = self.info.limits.max_output;
        self.request.max_output.unwrap_or(most).min(most).max(1)
    }
}
