//! Anthropic Messages.

mod request;
mod stream;

pub(crate) use request::{OPTIONS, body};
pub(crate) use stream::AnthropicFold;

/// The version of the API that requests name.
pub(crate) const VERSION: &str = "2023-06-01";
