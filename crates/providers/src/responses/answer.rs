//! Converts the model's earlier answers, each item in its place.

use super::{
    WIRE,
    request::{Item as Wire, Output, WirePart, wire_part},
};
use crate::{
    call_ids::CallIds,
    parts::{own_form, replayed, result_images, result_text, sent_name, written_object},
    sink::sent_arguments,
};
use agent::{AnsweredCall, AssistantMessage, Item, ModelInfo, Reasoning};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// Appends an answer, item by item in order, then the results of its calls. The model that wrote
/// the answer gets each item back as it was received, with its id and its phase.
/// <https://platform.openai.com/docs/guides/reasoning>
pub(super) fn push_answer<'a>(
    input: &mut Vec<Wire<'a>>,
    answer: &'a AssistantMessage,
    info: &ModelInfo,
    ids: &mut CallIds,
) {
    let own = answer.model == info.id;
    let mut outputs = Vec::new();
    // Reasoning is sent only together with the item it led to: the API rejects it alone.
    let mut reasoning: Vec<Wire<'a>> = Vec::new();
    for item in &answer.items {
        let sent = match item {
            Item::Text(text) => match own_form(text.opaque.as_ref().filter(|_| own), WIRE) {
                Some(raw) => Wire::Replayed(raw),
                None if text.text.is_empty() => continue,
                None => {
                    let content = vec![WirePart::OutputText { text: Cow::Borrowed(&text.text) }];
                    Wire::Message { role: "assistant", content }
                }
            },
            Item::Reasoning(part) if own => {
                reasoning.extend(sent_reasoning(part).map(Wire::Replayed));
                continue;
            }
            Item::Call(call) => {
                let (sent, call_id) = sent_call(call, own, ids);
                outputs.push(Wire::FunctionCallOutput { call_id, output: output(call, info) });
                sent
            }
            Item::Other(opaque) if own => match own_form(Some(opaque), WIRE) {
                Some(raw) => Wire::Replayed(raw),
                None => continue,
            },
            Item::Reasoning(_) | Item::Other(_) => continue,
        };
        input.append(&mut reasoning);
        input.push(sent);
    }
    input.append(&mut outputs);
}

/// Returns a reasoning item as it was received, if it has content, encrypted or plain. Without
/// content the item is only a reference, which a server that stores nothing cannot resolve.
fn sent_reasoning(reasoning: &Reasoning) -> Option<&RawValue> {
    #[derive(Deserialize)]
    struct Content {
        encrypted_content: Option<String>,
        #[serde(default)]
        content: Option<Vec<serde::de::IgnoredAny>>,
    }
    let raw = replayed(reasoning.opaque.as_ref(), &["reasoning"])?;
    let Content { encrypted_content, content } = serde_json::from_str(raw.get()).ok()?;
    (encrypted_content.is_some() || content.is_some_and(|parts| !parts.is_empty())).then_some(raw)
}

/// Converts a call and returns the id for its result.
fn sent_call<'a>(call: &'a AnsweredCall, own: bool, ids: &mut CallIds) -> (Wire<'a>, String) {
    let call_id = match own {
        true => ids.own(&call.provider_id, |_| true),
        false => ids.next(&call.provider_id),
    };
    // If the id had to be changed, the original item cannot be replayed, since it contains the old
    // id.
    let raw = own_form(call.written.opaque.as_ref().filter(|_| own), WIRE);
    if let Some(raw) = raw.filter(|_| call_id == call.provider_id) {
        return (Wire::Replayed(raw), call_id);
    }
    let arguments = match written_object(call).filter(|_| own) {
        Some(raw) => raw.get().to_owned(),
        None => sent_arguments(&call.arguments).to_string(),
    };
    (Wire::FunctionCall { call_id: call_id.clone(), name: sent_name(call, own), arguments }, call_id)
}

/// Converts a result: a plain string, the form that every server accepts, unless there are images.
fn output<'a>(call: &'a AnsweredCall, info: &ModelInfo) -> Output<'a> {
    let images = result_images(&call.result, info);
    if images.is_empty() {
        return Output::Text(result_text(&call.result));
    }
    let text = WirePart::InputText { text: result_text(&call.result) };
    Output::Parts(std::iter::once(text).chain(images.into_iter().map(wire_part)).collect())
}
