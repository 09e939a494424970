//! MCP sampling: requests from MCP servers to the model of the running turn.

use crate::{Message, ModelStop};

/// The suffix after the server's name in the name that permission rules use for sampling. No
/// function of a server has this name.
pub const SAMPLING: &str = "sampling_createMessage";

/// A server's sampling request. The model receives only this: neither the session's conversation
/// nor its tools.
#[derive(Debug, Clone, PartialEq)]
pub struct SampleRequest {
    /// The name of the server.
    pub server: String,
    /// The system prompt.
    pub system: String,
    /// The server's own conversation. Its first and its last message are the user's.
    pub messages: Vec<Message>,
    /// The maximum number of output tokens; at most the model's own maximum.
    pub max_output: u64,
}

/// The model's response to a sampling request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sampled {
    /// The model's id.
    pub model: String,
    /// The text of the response.
    pub text: String,
    /// The reason why the model stopped.
    pub stop: ModelStop,
}
