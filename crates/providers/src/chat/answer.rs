//! Converts the model's earlier answers; one message holds a whole answer.

use super::{
    extra_members::{ExtraCallMembers, ExtraMembers, ReasoningField, WIRE},
    message::{Call, ChatMessage, Function},
};
use crate::{
    call_ids::CallIds,
    fields::Fields,
    parts::{own_form, sent_name, written_object},
    refused_options::ModelQuirks,
    sink::sent_arguments,
};
use agent::{AnsweredCall, AssistantMessage, Item, Message};

/// What is known of the model that continues the conversation.
#[derive(Debug, Clone, Copy)]
pub(super) struct ModelTraits<'t> {
    /// The model has sent `reasoning_content` before, or its server asked for it. Vendors that use
    /// the field require it in every later answer with calls, empty if there was no reasoning.
    /// <https://api-docs.deepseek.com/guides/thinking_mode>
    reasons: bool,
    /// The server is OpenAI's own, which accepts arguments even if they are not valid JSON.
    official: bool,
    quirks: &'t ModelQuirks,
}

impl<'t> ModelTraits<'t> {
    /// Derives the habits from earlier answers of the model `id` and from its server's refusals.
    pub(super) fn of(messages: &[Message], id: &str, official: bool, quirks: &'t ModelQuirks) -> Self {
        let in_field = |item: &Item<AnsweredCall>| match item {
            Item::Reasoning(part) => ReasoningField::of(part) == Some(ReasoningField::ReasoningContent),
            _ => false,
        };
        let gives = |message: &Message| match message {
            Message::Assistant(answer) => answer.model == id && answer.items.iter().any(in_field),
            Message::User(_) => false,
        };
        let reasons = quirks.wants_reasoning || messages.iter().any(gives);
        Self { reasons, official, quirks }
    }

    /// Returns a member, unless the server refuses to take it back.
    fn member<T>(&self, name: &str, value: Option<T>) -> Option<T> {
        value.filter(|_| self.quirks.accepts_back(name))
    }

    /// Removes the members that the server refuses to take back.
    fn members<'a>(&self, mut members: Fields<'a>) -> Fields<'a> {
        members.0.retain(|(name, _)| self.quirks.accepts_back(name));
        members
    }
}

/// Converts an answer and appends the ids of its calls to `sent`. Returns `None` if the answer has
/// neither text nor calls, even if it has reasoning: servers reject that. Reasoning (in the field
/// it arrived in) and unknown fields mean nothing to other models, so only the model that wrote the
/// answer gets them back.
pub(super) fn message<'a>(
    answer: &'a AssistantMessage,
    own: bool,
    model_traits: ModelTraits<'_>,
    ids: &mut CallIds,
    sent: &mut Vec<String>,
) -> Option<ChatMessage<'a>> {
    let content = if own { one_text(answer) } else { answer.text() };
    if content.is_empty() && !answer.has_calls() {
        return None;
    }
    let (mut reasoning_content, mut reasoning, mut more) = (None, None, Fields::default());
    for item in answer.items.iter().filter(|_| own) {
        match item {
            Item::Reasoning(part) => {
                let field = match ReasoningField::of(part) {
                    Some(ReasoningField::ReasoningContent) => &mut reasoning_content,
                    Some(ReasoningField::Reasoning) => &mut reasoning,
                    None => continue,
                };
                field.get_or_insert_with(String::new).push_str(&part.text);
            }
            Item::Other(opaque) => {
                let extra: Option<ExtraMembers<'_>> = read(own_form(Some(opaque), WIRE));
                more.0.extend(extra.unwrap_or_default().message.0);
            }
            Item::Text(_) | Item::Call(_) => {}
        }
    }
    if model_traits.reasons && answer.has_calls() {
        reasoning_content.get_or_insert_with(String::new);
    }
    let tool_calls = answer.calls().map(|call| {
        let id = match own {
            true => ids.own(&call.provider_id, |_| true),
            false => ids.next(&call.provider_id),
        };
        sent.push(id.clone());
        sent_call(call, id, own, model_traits)
    });
    Some(ChatMessage::Assistant {
        tool_calls: tool_calls.collect(),
        content: Some(content).filter(|text| !text.is_empty()),
        reasoning_content: model_traits.member("reasoning_content", reasoning_content),
        reasoning: model_traits.member("reasoning", reasoning),
        more: model_traits.members(more),
    })
}

/// Returns the text as the model wrote it: one string, regardless of how it was split into items.
fn one_text(answer: &AssistantMessage) -> String {
    let texts = answer.items.iter().filter_map(|item| match item {
        Item::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    texts.collect()
}

fn sent_call<'a>(call: &'a AnsweredCall, id: String, own: bool, model_traits: ModelTraits<'_>) -> Call<'a> {
    let extra: Option<ExtraCallMembers<'_>> =
        read(own_form(call.written.opaque.as_ref().filter(|_| own), WIRE));
    let ExtraCallMembers { call: more, function } = extra.unwrap_or_default();
    let arguments = match written_object(call).filter(|_| own) {
        Some(raw) => raw.get().to_owned(),
        // Most servers parse the arguments that they receive.
        None if own && model_traits.official && call.arguments.is_err() => call.written.arguments.clone(),
        None => sent_arguments(&call.arguments).to_string(),
    };
    let function = Function { name: sent_name(call, own), arguments, more: model_traits.members(function) };
    Call { id, kind: "function", function, more: model_traits.members(more) }
}

fn read<'a, T: serde::Deserialize<'a>>(raw: Option<&'a serde_json::value::RawValue>) -> Option<T> {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok())
}
