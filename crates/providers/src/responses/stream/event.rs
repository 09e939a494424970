//! The events of the wire, as far as they are used here.

use agent::Usage;
use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use std::borrow::Cow;

#[derive(Deserialize)]
pub(super) struct Event<'a> {
    #[serde(rename = "type", borrow, default)]
    pub(super) kind: Cow<'a, str>,
    pub(super) delta: Option<String>,
    #[serde(borrow, default)]
    pub(super) item: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) response: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Item {
    Reasoning {
        #[serde(default)]
        summary: Vec<TextPart>,
        content: Option<Vec<TextPart>>,
    },
    FunctionCall {
        #[serde(default)]
        call_id: String,
        name: String,
        #[serde(default)]
        arguments: String,
    },
    Message {
        #[serde(default)]
        content: Vec<TextPart>,
    },
    WebSearchCall {
        #[serde(default)]
        action: Value,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
pub(super) struct TextPart {
    pub(super) text: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Ended<'a> {
    #[serde(borrow, default)]
    pub(super) output: Option<Vec<&'a RawValue>>,
    pub(super) usage: Option<UsageBlock>,
    pub(super) incomplete_details: Option<Incomplete>,
}

#[derive(Deserialize)]
pub(super) struct Incomplete {
    pub(super) reason: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct UsageBlock {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
    input_tokens_details: Option<InputDetails>,
}

#[derive(Deserialize)]
struct InputDetails {
    cached_tokens: Option<u64>,
    /// Billed at a higher rate by models that report it.
    cache_write_tokens: Option<u64>,
}

impl From<UsageBlock> for Usage {
    fn from(block: UsageBlock) -> Self {
        let details = block.input_tokens_details.as_ref();
        Self {
            input: block.input_tokens,
            output: block.output_tokens,
            cache_read: details.and_then(|details| details.cached_tokens).unwrap_or(0),
            cache_write: details.and_then(|details| details.cache_write_tokens).unwrap_or(0),
            ..Usage::default()
        }
    }
}
