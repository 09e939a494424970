//! Anthropic Messages.

mod answer;
mod request;
mod stream;
mod thinking_binding;

pub(crate) use request::{OPTIONS, body};
pub(crate) use stream::AnthropicFold;

/// The API version that requests name.
pub(crate) const VERSION: &str = "2023-06-01";

/// The key under which this wire stores its own form of items.
const WIRE: &str = "anthropic";
