//! The schema of one event: a `GenerateContentResponse`.

use agent::Usage;
use serde::Deserialize;
use serde_json::{Value, value::RawValue};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Event<'a> {
    #[serde(borrow, default)]
    pub(super) candidates: Vec<Candidate<'a>>,
    pub(super) prompt_feedback: Option<PromptFeedback>,
    pub(super) usage_metadata: Option<UsageBlock>,
    #[serde(borrow, default)]
    pub(super) error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Candidate<'a> {
    #[serde(default)]
    pub(super) index: u64,
    #[serde(borrow, default)]
    pub(super) content: Option<Content<'a>>,
    pub(super) finish_reason: Option<String>,
    pub(super) finish_message: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Content<'a> {
    #[serde(borrow, default)]
    pub(super) parts: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Part<'a> {
    pub(super) text: Option<String>,
    #[serde(default)]
    pub(super) thought: bool,
    #[serde(alias = "thought_signature")]
    pub(super) thought_signature: Option<String>,
    #[serde(borrow, default, alias = "function_call")]
    pub(super) function_call: Option<FunctionCall<'a>>,
    /// A call of a tool that the server runs by itself.
    #[serde(default, alias = "tool_call")]
    pub(super) tool_call: Value,
}

#[derive(Deserialize)]
pub(super) struct FunctionCall<'a> {
    pub(super) id: Option<String>,
    pub(super) name: String,
    #[serde(borrow, default)]
    pub(super) args: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PromptFeedback {
    pub(super) block_reason: Option<String>,
    pub(super) block_reason_message: Option<String>,
}

/// Token counts (Google, "UsageMetadata"): the prompt's include the cached ones, the candidates'
/// exclude the thoughts.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct UsageBlock {
    #[serde(default)]
    prompt_token_count: u64,
    #[serde(default)]
    tool_use_prompt_token_count: u64,
    #[serde(default)]
    candidates_token_count: u64,
    #[serde(default)]
    thoughts_token_count: u64,
    #[serde(default)]
    cached_content_token_count: u64,
}

impl From<UsageBlock> for Usage {
    fn from(block: UsageBlock) -> Self {
        Self {
            input: block.prompt_token_count.saturating_add(block.tool_use_prompt_token_count),
            output: block.candidates_token_count.saturating_add(block.thoughts_token_count),
            cache_read: block.cached_content_token_count,
            ..Self::default()
        }
    }
}
