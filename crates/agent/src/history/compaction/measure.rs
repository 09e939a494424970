//! How much of a model's context a conversation takes. What the provider counted is the truth; what came since is estimated.

use crate::{
    AnsweredCall, Content, History, Item, Message, ModelRequest, Reasoning, Text, ToolSpec, Written,
    event::item::opaque_bytes,
    limits::{BYTES_PER_TOKEN, IMAGE_TOKENS},
};
use serde_json::Value;

/// How full the context is, as far as is known.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Fill {
    /// How many messages were in the request that was answered last.
    asked: usize,
    /// What the provider counted for a request, and how many messages were in it.
    counted: Option<(u64, usize)>,
}

impl Fill {
    /// A request with that many messages was answered.
    pub(crate) fn answered(&mut self, messages: usize) {
        self.asked = messages;
    }

    /// Takes what the provider counted of the request that was answered last.
    pub(crate) fn count(&mut self, tokens: u64) {
        self.counted = Some((tokens, self.asked));
    }

    /// Whether nothing is known of what is sent now: nothing was counted yet, or it has become less
    /// since.
    pub(crate) fn is_unknown(self) -> bool {
        self.counted.is_none()
    }

    /// What was counted is no longer what is sent.
    pub(crate) fn forget(&mut self) {
        self.counted = None;
    }

    /// Tokens that a request with this conversation takes. `around` is what goes with it each time: the system prompt and the tools.
    pub(crate) fn used(self, history: &History, around: u64) -> u64 {
        let messages = history.messages();
        let estimate = around + messages.iter().map(message).sum::<u64>();
        match self.counted {
            // Some servers count only what they had not read before; so what was counted is not taken below half of what it must be.
            Some((tokens, known)) => {
                let since = messages.get(known..).unwrap_or_default().iter().map(message).sum::<u64>();
                (tokens + since).max(estimate / 2)
            }
            None => estimate,
        }
    }
}

/// About how many bytes of text, images and arguments a message holds.
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
            let arguments = call.arguments.as_ref().map_or_else(|bad| bad.raw.len(), json_bytes);
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

/// An estimate of the tokens of a text.
pub(super) fn text(text: &str) -> u64 {
    tokens(text.len())
}

/// An estimate of the tokens of a message.
pub(super) fn message(message: &Message) -> u64 {
    match message {
        Message::User(content) => content.iter().map(piece).sum(),
        Message::Assistant(answer) => answer.items.iter().map(item_tokens).sum(),
    }
}

/// What goes back to the model that wrote it is its own form where there is one; that of a text repeats
/// the text.
fn item_tokens(item: &Item<AnsweredCall>) -> u64 {
    match item {
        Item::Text(said) => text(&said.text),
        Item::Reasoning(part) => tokens(part.opaque.as_ref().map_or(part.text.len(), String::len)),
        Item::Call(call) => {
            let arguments = match &call.arguments {
                Ok(value) => json_bytes(value),
                Err(malformed) => malformed.raw.len(),
            };
            let images = call.result.images.len() as u64 * IMAGE_TOKENS;
            tokens(call.name.len() + arguments) + text(&call.result.text) + images
        }
        Item::Other(opaque) => tokens(opaque.len()),
    }
}

/// An estimate of the tokens of all that goes with a conversation.
pub(crate) fn around(request: &ModelRequest) -> u64 {
    tokens(request.system.len() + request.tools.bytes())
}

/// About how long a tool is as JSON text.
pub(crate) fn tool_bytes(tool: &ToolSpec) -> usize {
    tool.name.len() + tool.description.len() + json_bytes(&tool.parameters)
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

/// About how long a value is as JSON text.
fn json_bytes(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 5,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => 2 + items.iter().map(|item| json_bytes(item) + 1).sum::<usize>(),
        Value::Object(members) => {
            2 + members.iter().map(|(name, value)| name.len() + 4 + json_bytes(value)).sum::<usize>()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AssistantMessage, ModelCall, ToolCallRequest, ToolResult};
    use serde_json::json;

    fn said(bytes: usize) -> Vec<Content> {
        vec![Content::text("x".repeat(bytes))]
    }

    #[test]
    fn what_was_counted_stands_and_what_came_since_is_estimated() {
        let mut history = History::default();
        history.push_user(said(4_000));
        let mut fill = Fill::default();
        assert_eq!(fill.used(&history, 500), 1_500, "nothing was counted yet");
        fill.answered(1);
        fill.count(1_200);
        history.push_user(said(400));
        assert_eq!(fill.used(&history, 500), 1_300);
        fill.answered(2);
        fill.count(7);
        assert_eq!(
            fill.used(&history, 500),
            800,
            "a server that counts only what is new to it is not believed"
        );
        fill.forget();
        assert_eq!(fill.used(&history, 500), 1_600);
    }

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

    #[test]
    fn json_is_measured_without_being_written() {
        for value in
            [json!(null), json!({"a": [1, "two", {"b": "c"}], "long": "x".repeat(100)}), json!([[], {}])]
        {
            let written = value.to_string().len();
            assert!(
                json_bytes(&value).abs_diff(written) <= 12,
                "{value}: {} and {written}",
                json_bytes(&value)
            );
        }
    }
}
