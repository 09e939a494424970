//! Converts the model's earlier answers, each block in its place.

use super::{
    WIRE,
    request::{Block, Input, Kind, Wire, block, push},
    thinking_binding::ReplayedThinking,
};
use crate::{
    call_ids::CallIds,
    fields::Fields,
    parts::{own_form, replayed, result_images, sent_name, written_object},
    sink::sent_arguments,
};
use agent::{AnsweredCall, AssistantMessage, Item, ModelInfo, Text};
use serde_json::value::RawValue;

/// The types of thinking blocks.
const THINKING: &[&str] = &["thinking", "redacted_thinking"];
/// The text appended to a message that would end with thinking, which the API rejects.
const ENDS_THINKING: &str = "(The answer ended here.)";

/// Appends an answer, item by item in order, and the results of its calls. Only the model that
/// wrote the answer gets back what means nothing to another one; `replayed_thinking` decides how
/// much of its thinking that includes.
/// <https://platform.claude.com/docs/en/build-with-claude/thinking-tool-workflows>
pub(super) fn push_answer<'a>(
    messages: &mut Vec<Wire<'a>>,
    answer: &'a AssistantMessage,
    replayed_thinking: ReplayedThinking,
    info: &ModelInfo,
    ids: &mut CallIds,
) {
    let own = answer.model == info.id;
    let (mut content, mut results) = (Vec::new(), Vec::new());
    for item in &answer.items {
        match item {
            Item::Text(text) => content.extend(text_block(text, own)),
            Item::Reasoning(reasoning) if own => {
                let raw = replayed(reasoning.opaque.as_ref(), THINKING);
                let raw = raw.filter(|raw| {
                    replayed_thinking == ReplayedThinking::Unsigned
                        || replayed_thinking == ReplayedThinking::Signed && is_signed(raw)
                });
                content.extend(raw.map(|raw| Block::from(Kind::Thinking(raw))));
            }
            Item::Call(call) => {
                let id = match own {
                    true => ids.own(&call.provider_id, takes_in_id),
                    false => ids.next(&call.provider_id),
                };
                results.push(result_block(call, id.clone(), info));
                content.push(call_block(call, id, own));
            }
            Item::Other(opaque) if own => {
                let raw = own_form(Some(opaque), WIRE);
                content.extend(raw.map(|raw| Block::from(Kind::Replayed(raw))));
            }
            Item::Reasoning(_) | Item::Other(_) => {}
        }
    }
    if content.last().is_some_and(is_thinking) {
        content.push(Block::from(Kind::Text { text: ENDS_THINKING.into() }));
    }
    push(messages, "assistant", content);
    push(messages, "user", results);
}

/// Converts a text, unless it is blank: the API rejects blank texts.
fn text_block(text: &Text, own: bool) -> Option<Block<'_>> {
    if text.text.trim().is_empty() {
        return None;
    }
    let raw = text.opaque.as_ref().filter(|_| own);
    let raw = own_form(raw, WIRE);
    Some(Block::from(match raw {
        Some(raw) => Kind::Replayed(raw),
        None => Kind::Text { text: text.text.as_str().into() },
    }))
}

fn call_block(call: &AnsweredCall, id: String, own: bool) -> Block<'_> {
    let input = match written_object(call).filter(|_| own) {
        Some(raw) => Input::Written(raw),
        None => Input::Read(sent_arguments(&call.arguments)),
    };
    let more = own_form(call.written.opaque.as_ref().filter(|_| own), WIRE);
    Block::from(Kind::ToolUse { id, name: sent_name(call, own), input, more: Fields::of(more) })
}

fn result_block<'a>(call: &'a AnsweredCall, id: String, info: &ModelInfo) -> Block<'a> {
    let mut content = Vec::new();
    if !call.result.text.trim().is_empty() {
        content.push(Block::from(Kind::Text { text: call.result.text.as_str().into() }));
    }
    content.extend(result_images(&call.result, info).into_iter().map(block));
    Block::from(Kind::ToolResult { tool_use_id: id, content, is_error: call.result.is_error })
}

/// Returns whether a thinking block is signed, or encrypted as a whole.
fn is_signed(raw: &RawValue) -> bool {
    let block = Fields::of(Some(raw));
    block.get("data").is_some() || block.get("signature").is_some_and(|signature| signature.get() != "\"\"")
}

/// Returns whether the API accepts a character in the id of a call.
fn takes_in_id(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == '_' || char == '-'
}

fn is_thinking(block: &Block<'_>) -> bool {
    matches!(block.kind, Kind::Thinking(_))
}
