//! Requests of servers to the model that a turn runs on.

use crate::{Message, ModelStop};

/// What follows the server in the name that rules know it by. No function of a server is called so.
pub const SAMPLING: &str = "sampling_createMessage";

/// What a server wants to know of the model. The model is told this and nothing else: neither the conversation nor the tools.
#[derive(Debug, Clone, PartialEq)]
pub struct SampleRequest {
    /// The server.
    pub server: String,
    /// What the model is told first.
    pub system: String,
    /// A conversation of the server's own: begins and ends with the user.
    pub messages: Vec<Message>,
    /// The most tokens of the answer; no more than the model gives.
    pub max_output: u64,
}

/// What the model answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sampled {
    /// The model's id.
    pub model: String,
    /// What it said.
    pub text: String,
    /// Why it stopped.
    pub stop: ModelStop,
}
