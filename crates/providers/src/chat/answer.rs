//! Answers of the model as they go back: one message holds a whole answer.

use super::{
    WIRE,
    kept::{Kept, KeptCall, ReasoningField},
    request::{Call, Function, Wire},
};
use crate::{
    call_ids::CallIds,
    fields::Fields,
    learned::Traits,
    parts::{own_form, sent_name, written_object},
    sink::sent_arguments,
};
use agent::{AnsweredCall, AssistantMessage, Item, Message};

/// What is known of the model that a conversation goes on with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Habits<'t> {
    /// The model has given its reasoning in `reasoning_content` once, or asked for it. Vendors that do so
    /// want the field in every answer with calls from then on, empty where there was none.
    /// <https://api-docs.deepseek.com/guides/thinking_mode>
    reasons: bool,
    /// The server is OpenAI's own, which takes arguments back whatever they are.
    official: bool,
    traits: &'t Traits,
}

impl<'t> Habits<'t> {
    /// What the answers of the model `id` show, and what its server has refused.
    pub(super) fn of(messages: &[Message], id: &str, official: bool, traits: &'t Traits) -> Self {
        let in_field = |item: &Item<AnsweredCall>| match item {
            Item::Reasoning(part) => ReasoningField::of(part) == Some(ReasoningField::ReasoningContent),
            _ => false,
        };
        let gives = |message: &Message| match message {
            Message::Assistant(answer) => answer.model == id && answer.items.iter().any(in_field),
            Message::User(_) => false,
        };
        let reasons = traits.wants_reasoning || messages.iter().any(gives);
        Self { reasons, official, traits }
    }

    /// A member, unless the server does not take it back.
    fn member<T>(&self, name: &str, value: Option<T>) -> Option<T> {
        value.filter(|_| self.traits.takes_back(name))
    }

    /// Members but for those that the server does not take back.
    fn members<'a>(&self, mut members: Fields<'a>) -> Fields<'a> {
        members.0.retain(|(name, _)| self.traits.takes_back(name));
        members
    }
}

/// An answer; `None` where it says and does nothing, which servers refuse, whatever was thought. The ids
/// of its calls are added to `sent`. Only the model that wrote it gets back what means nothing to others:
/// its reasoning, in the field that it came in, and fields that we do not know.
pub(super) fn message<'a>(
    answer: &'a AssistantMessage,
    own: bool,
    habits: Habits<'_>,
    ids: &mut CallIds,
    sent: &mut Vec<String>,
) -> Option<Wire<'a>> {
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
                let kept: Option<Kept<'_>> = read(own_form(Some(opaque), WIRE));
                more.0.extend(kept.unwrap_or_default().message.0);
            }
            Item::Text(_) | Item::Call(_) => {}
        }
    }
    if habits.reasons && answer.has_calls() {
        reasoning_content.get_or_insert_with(String::new);
    }
    let tool_calls = answer.calls().map(|call| {
        let id = match own {
            true => ids.own(&call.provider_id, |_| true),
            false => ids.next(&call.provider_id),
        };
        sent.push(id.clone());
        sent_call(call, id, own, habits)
    });
    Some(Wire::Assistant {
        tool_calls: tool_calls.collect(),
        content: Some(content).filter(|text| !text.is_empty()),
        reasoning_content: habits.member("reasoning_content", reasoning_content),
        reasoning: habits.member("reasoning", reasoning),
        more: habits.members(more),
    })
}

/// The text as the model wrote it: one string, however many pieces it came in.
fn one_text(answer: &AssistantMessage) -> String {
    let texts = answer.items.iter().filter_map(|item| match item {
        Item::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    texts.collect()
}

fn sent_call<'a>(call: &'a AnsweredCall, id: String, own: bool, habits: Habits<'_>) -> Call<'a> {
    let kept: Option<KeptCall<'_>> = read(own_form(call.written.opaque.as_ref().filter(|_| own), WIRE));
    let KeptCall { call: more, function } = kept.unwrap_or_default();
    let arguments = match written_object(call).filter(|_| own) {
        Some(raw) => raw.get().to_owned(),
        // Most servers parse what they are sent.
        None if own && habits.official && call.arguments.is_err() => call.written.arguments.clone(),
        None => sent_arguments(&call.arguments).to_string(),
    };
    let function = Function { name: sent_name(call, own), arguments, more: habits.members(function) };
    Call { id, kind: "function", function, more: habits.members(more) }
}

fn read<'a, T: serde::Deserialize<'a>>(raw: Option<&'a serde_json::value::RawValue>) -> Option<T> {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok())
}
