//! Conversion of sampling requests between the wire and the session.

#![expect(deprecated, reason = "servers ask for the model as long as the protocol has it")]

use crate::limits::{IMAGES, SAMPLE_BYTES, SAMPLE_MESSAGES, SAMPLE_TOKENS};
use agent::{
    AssistantMessage, Content, Message, ModelStop, Redactor, SampleRequest, Sampled, sendable_image,
};
use rmcp::model::{
    CreateMessageRequestParams, CreateMessageResult, Role, SamplingMessage, SamplingMessageContentBlock,
};

/// Converts a server's request, and returns its stop sequences. The error names the problem.
pub(crate) fn parse_request(
    server: &str,
    request: CreateMessageRequestParams,
    redactor: &Redactor,
) -> Result<(SampleRequest, Vec<String>), String> {
    if request.tools.is_some_and(|tools| !tools.is_empty()) {
        return Err("tools are not offered with sampling".to_owned());
    }
    if request.messages.len() > SAMPLE_MESSAGES {
        return Err(format!("there are more than {SAMPLE_MESSAGES} messages"));
    }
    // A server knows the secrets that it was given, and may repeat them.
    let clean = |text: &str| agent::sanitise(&redactor.redact(text));
    let system = clean(request.system_prompt.as_deref().unwrap_or_default());
    let (mut bytes, mut images) = (system.len(), 0);
    let mut messages = Vec::new();
    for message in request.messages {
        let mut content = Vec::new();
        for block in message.content.into_vec() {
            match block {
                SamplingMessageContentBlock::Text(text) => {
                    let text = clean(&text.text);
                    bytes += text.len();
                    content.push(Content::Text(text));
                }
                SamplingMessageContentBlock::Image(image) if message.role == Role::User => {
                    images += 1;
                    if images > IMAGES {
                        return Err(format!("at most {IMAGES} images are accepted"));
                    }
                    let mime_type = sendable_image(&image.data)
                        .map_err(|fault| format!("image {images} cannot be sent to the model: {fault}"))?;
                    content.push(Content::Image { mime_type: mime_type.to_owned(), data: image.data });
                }
                _ => return Err("only text, and images of the user, can be sent to the model".to_owned()),
            }
        }
        append(&mut messages, &message.role, content);
    }
    if bytes > SAMPLE_BYTES {
        return Err(format!("there are more than {SAMPLE_BYTES} bytes of text"));
    }
    let by_user = |message: Option<&Message>| matches!(message, Some(Message::User(_)));
    if !by_user(messages.first()) || !by_user(messages.last()) {
        return Err("the conversation must begin and end with the user".to_owned());
    }
    let max_output = u64::from(request.max_tokens).clamp(1, SAMPLE_TOKENS);
    let stops = request.stop_sequences.unwrap_or_default();
    let stops = stops.into_iter().filter(|stop| !stop.is_empty()).take(SAMPLE_MESSAGES).collect();
    Ok((SampleRequest { server: server.to_owned(), system, messages, max_output }, stops))
}

/// Appends content; consecutive messages of one role are merged.
fn append(messages: &mut Vec<Message>, role: &Role, content: Vec<Content>) {
    if content.iter().all(|item| matches!(item, Content::Text(text) if text.is_empty())) {
        return;
    }
    let texts = || {
        let texts = content.iter().filter_map(|item| match item {
            Content::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    };
    match (role, messages.last_mut()) {
        (Role::User, Some(Message::User(before))) => before.extend(content),
        (Role::User, _) => messages.push(Message::User(content)),
        (Role::Assistant, Some(Message::Assistant(before))) => {
            *before = AssistantMessage::from_text("", format!("{}\n{}", before.text(), texts()));
        }
        (Role::Assistant, _) => messages.push(Message::Assistant(AssistantMessage::from_text("", texts()))),
    }
}

/// Converts the response for the server, cut at the first stop sequence.
pub(crate) fn response(sampled: Sampled, stops: &[String]) -> CreateMessageResult {
    let Sampled { model, mut text, stop } = sampled;
    let end = stops.iter().filter_map(|stop| text.find(stop)).min();
    let reason = match (end, stop) {
        (Some(end), _) => {
            text.truncate(end);
            CreateMessageResult::STOP_REASON_END_SEQUENCE
        }
        (None, ModelStop::MaxTokens) => CreateMessageResult::STOP_REASON_END_MAX_TOKEN,
        (None, ModelStop::Refusal) => "refusal",
        (None, ModelStop::EndTurn | ModelStop::ToolCalls) => CreateMessageResult::STOP_REASON_END_TURN,
    };
    CreateMessageResult::new(SamplingMessage::assistant_text(text), model).with_stop_reason(reason)
}
