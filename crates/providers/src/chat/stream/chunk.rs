//! The schema of a chunk, lenient where servers deviate from the specification.

use crate::fields::Fields;
use agent::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
pub(super) struct Chunk<'a> {
    #[serde(borrow, default)]
    pub(super) choices: Option<Vec<Choice<'a>>>,
    pub(super) usage: Option<UsageBlock>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    #[serde(default)]
    object: Option<String>,
}

impl Chunk<'_> {
    /// Matches `{"error": …}`, and `{"object": "error", …}` as sent by vLLM.
    pub(super) fn is_error(&self) -> bool {
        self.error.is_some() || self.object.as_deref() == Some("error")
    }
}

#[derive(Deserialize)]
pub(super) struct Choice<'a> {
    #[serde(default)]
    pub(super) index: u64,
    #[serde(borrow, default)]
    pub(super) delta: Option<Delta<'a>>,
    pub(super) finish_reason: Option<String>,
}

/// A piece of the message.
#[derive(Deserialize)]
#[serde(try_from = "Fields<'a>", bound(deserialize = "'de: 'a"))]
pub(super) struct Delta<'a> {
    pub(super) content: Option<String>,
    pub(super) reasoning_content: Option<String>,
    pub(super) reasoning: Option<String>,
    pub(super) refusal: Option<String>,
    pub(super) tool_calls: Option<Vec<CallDelta<'a>>>,
    /// Unknown members.
    pub(super) more: Fields<'a>,
}

impl<'a> TryFrom<Fields<'a>> for Delta<'a> {
    type Error = serde_json::Error;

    fn try_from(fields: Fields<'a>) -> Result<Self, Self::Error> {
        Ok(Self {
            content: fields.read("content")?,
            reasoning_content: fields.read("reasoning_content")?,
            reasoning: fields.read("reasoning")?,
            refusal: fields.read("refusal")?,
            tool_calls: fields.read("tool_calls")?,
            more: fields.without(&[
                "role",
                "content",
                "reasoning_content",
                "reasoning",
                "refusal",
                "tool_calls",
                "function_call",
            ]),
        })
    }
}

/// A piece of a call.
#[derive(Deserialize)]
#[serde(try_from = "Fields<'a>", bound(deserialize = "'de: 'a"))]
pub(super) struct CallDelta<'a> {
    pub(super) index: Option<i64>,
    pub(super) id: Option<String>,
    pub(super) function: Option<FunctionDelta<'a>>,
    /// Unknown members.
    pub(super) more: Fields<'a>,
}

impl<'a> TryFrom<Fields<'a>> for CallDelta<'a> {
    type Error = serde_json::Error;

    fn try_from(fields: Fields<'a>) -> Result<Self, Self::Error> {
        Ok(Self {
            index: fields.read("index")?,
            id: fields.read("id")?,
            function: fields.read("function")?,
            more: fields.without(&["index", "id", "type", "function"]),
        })
    }
}

impl CallDelta<'_> {
    /// Returns the number of bytes that are stored of this piece.
    pub(super) fn bytes(&self) -> usize {
        let function = self.function.as_ref().map_or(0, |function| {
            let name = function.name.as_ref().map_or(0, String::len);
            name + function.arguments.map_or(0, |raw| raw.get().len()) + function.more.bytes()
        });
        self.id.as_ref().map_or(0, String::len) + function + self.more.bytes()
    }
}

/// A piece of a call's function.
#[derive(Deserialize)]
#[serde(try_from = "Fields<'a>", bound(deserialize = "'de: 'a"))]
pub(super) struct FunctionDelta<'a> {
    pub(super) name: Option<String>,
    /// A string of JSON; a few servers send the object itself.
    pub(super) arguments: Option<&'a RawValue>,
    /// Unknown members.
    pub(super) more: Fields<'a>,
}

impl<'a> TryFrom<Fields<'a>> for FunctionDelta<'a> {
    type Error = serde_json::Error;

    fn try_from(fields: Fields<'a>) -> Result<Self, Self::Error> {
        Ok(Self {
            name: fields.read("name")?,
            arguments: fields.read("arguments")?,
            more: fields.without(&["name", "arguments"]),
        })
    }
}

#[derive(Deserialize)]
pub(super) struct UsageBlock {
    #[serde(default)]
    prompt_tokens: u64,
    #[serde(default)]
    completion_tokens: u64,
    prompt_tokens_details: Option<PromptDetails>,
    /// DeepSeek's name for cached tokens.
    prompt_cache_hit_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct PromptDetails {
    cached_tokens: Option<u64>,
}

impl From<UsageBlock> for Usage {
    fn from(block: UsageBlock) -> Self {
        let cached = block.prompt_tokens_details.and_then(|details| details.cached_tokens);
        Self {
            input: block.prompt_tokens,
            output: block.completion_tokens,
            cache_read: cached.or(block.prompt_cache_hit_tokens).unwrap_or(0),
            ..Usage::default()
        }
    }
}
