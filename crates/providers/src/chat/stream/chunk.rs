//! The shape of a chunk, as loosely as servers keep to it.

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
    /// `{"error": …}`, or `{"object": "error", …}` as vLLM has it.
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

#[derive(Deserialize)]
pub(super) struct Delta<'a> {
    pub(super) content: Option<String>,
    pub(super) reasoning_content: Option<String>,
    pub(super) reasoning: Option<String>,
    pub(super) refusal: Option<String>,
    #[serde(borrow, default)]
    pub(super) tool_calls: Option<Vec<CallDelta<'a>>>,
}

#[derive(Deserialize)]
pub(super) struct CallDelta<'a> {
    pub(super) index: Option<i64>,
    pub(super) id: Option<String>,
    #[serde(borrow, default)]
    pub(super) function: Option<FunctionDelta<'a>>,
}

impl CallDelta<'_> {
    /// Bytes that are kept of it.
    pub(super) fn bytes(&self) -> usize {
        let function = self.function.as_ref().map_or(0, |function| {
            let name = function.name.as_ref().map_or(0, String::len);
            name + function.arguments.map_or(0, |raw| raw.get().len())
        });
        self.id.as_ref().map_or(0, String::len) + function
    }
}

#[derive(Deserialize)]
pub(super) struct FunctionDelta<'a> {
    pub(super) name: Option<String>,
    /// A string of JSON; a few servers send the object itself.
    #[serde(borrow, default)]
    pub(super) arguments: Option<&'a RawValue>,
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
