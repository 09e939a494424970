//! Estimates how much of a model's context a conversation takes.

use crate::{
    AnsweredCall, Content, Item, Message, ModelRequest, Reasoning, Text, Written,
    event::item::opaque_bytes,
    limits::{BYTES_PER_TOKEN, IMAGE_TOKENS},
    text::json_bytes::estimated_bytes,
};

/// Returns the approximate size of a message in memory: bytes of text, images and arguments.
pub(crate) fn bytes(message: &Message) -> usize {
    match message {
        Message::User(said) => said.iter().map(content_bytes).sum(),
        Message::Assistant(answer) => answer.items.iter().map(item_bytes).sum(),
    }
}

fn item_bytes(item: &Item<AnsweredCall>) -> usize {
    match item {
        Item::Text(Text { text, opaque }) | Item::Reasoning(Reasoning { text, opaque }) => {
            text.len() + opaque_bytes(opaque.as_ref())
        }
        Item::Call(call) => {
            let arguments = call.arguments.as_ref().map_or_else(|bad| bad.raw.len(), estimated_bytes);
            let images = call.result.images.iter().map(content_bytes).sum::<usize>();
            call.name.len() + arguments + written_bytes(&call.written) + call.result.text.len() + images
        }
        Item::Other(opaque) => opaque.len(),
    }
}

fn written_bytes(written: &Written) -> usize {
    written.name.len() + written.arguments.len() + opaque_bytes(written.opaque.as_ref())
}

fn content_bytes(content: &Content) -> usize {
    match content {
        Content::Text(words) => words.len(),
        Content::Image { data, .. } => data.len(),
        Content::ResourceLink { uri, name } => uri.len() + name.len(),
        Content::Resource { uri, text, .. } => uri.len() + text.len(),
    }
}

/// Estimates the tokens of a text.
pub(super) fn text(text: &str) -> u64 {
    tokens(text.len())
}

/// Estimates the tokens of a message.
pub(super) fn message(message: &Message) -> u64 {
    match message {
        Message::User(content) => content.iter().map(piece).sum(),
        Message::Assistant(answer) => answer.items.iter().map(item_tokens).sum(),
    }
}

/// Estimates the tokens of an item. Reasoning goes back to its model in its opaque form if it has
/// one; the opaque form of a text repeats the text, so it is not counted.
fn item_tokens(item: &Item<AnsweredCall>) -> u64 {
    match item {
        Item::Text(said) => text(&said.text),
        Item::Reasoning(part) => tokens(part.opaque.as_ref().map_or(part.text.len(), String::len)),
        Item::Call(call) => {
            let arguments = match &call.arguments {
                Ok(value) => estimated_bytes(value),
                Err(malformed) => malformed.raw.len(),
            };
            let images = call.result.images.len() as u64 * IMAGE_TOKENS;
            tokens(call.name.len() + arguments) + text(&call.result.text) + images
        }
        Item::Other(opaque) => tokens(opaque.len()),
    }
}

/// Estimates the tokens of all that a request sends beside the conversation.
pub(crate) fn around(request: &ModelRequest) -> u64 {
    tokens(request.system.len() + request.tools.bytes())
}

fn piece(content: &Content) -> u64 {
    match content {
        Content::Text(words) => text(words),
        Content::Image { .. } => IMAGE_TOKENS,
        Content::ResourceLink { uri, name } => tokens(uri.len() + name.len()),
        Content::Resource { uri, text, .. } => tokens(uri.len() + text.len()),
    }
}

fn tokens(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(BYTES_PER_TOKEN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AssistantMessage, ModelCall, ToolCallRequest, ToolResult};

    #[test]
    fn images_and_results_count_by_their_bytes() {
        let image = Content::Image { mime_type: "image/png".to_owned(), data: "A".repeat(700) };
        assert_eq!(bytes(&Message::User(vec![Content::text("12345"), image.clone()])), 705);
        let result = ToolResult { images: vec![image], ..ToolResult::ok("123") };
        let call = ModelCall {
            provider_id: "p".to_owned(),
            name: "bash".to_owned(),
            arguments: "{".to_owned(),
            opaque: Some("{}".to_owned()),
        };
        let call = AnsweredCall::new(ToolCallRequest::new("tool_0".into(), call), result);
        let text = Text { text: "1234567".to_owned(), opaque: Some("123".to_owned()) };
        let items = vec![Item::Text(text), Item::Call(call), Item::Other("12".to_owned())];
        let answer = AssistantMessage { items, ..AssistantMessage::default() };
        let (said, called) = (7 + 3, 4 + 1 + (4 + 1 + 2) + 703);
        assert_eq!(bytes(&Message::Assistant(answer)), said + called + 2);
    }
}
