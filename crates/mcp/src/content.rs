//! Conversion of a server's results into text and images, for the model and for the user.

use crate::limits::{ATTACHED_BYTES, IMAGES};
use agent::{Content, Redactor, ToolContent, ToolOutput, ToolResult};
use rmcp::model::{CallToolResult, ContentBlock, GetPromptResult, ResourceContents, Role};

/// Converts the result of a call.
pub(crate) fn call_output(result: CallToolResult) -> ToolOutput {
    let mut parts = Parts::default();
    result.content.into_iter().for_each(|block| parts.block(block));
    if parts.texts.is_empty()
        && parts.images.is_empty()
        && let Some(structured) = &result.structured_content
    {
        parts.texts.push(structured.to_string());
    }
    parts.output(result.is_error == Some(true))
}

/// Converts the contents of a resource, as the result of a tool.
pub(crate) fn resource_output(contents: Vec<ResourceContents>) -> ToolOutput {
    let mut parts = Parts::default();
    contents.into_iter().for_each(|contents| parts.resource(contents));
    parts.output(false)
}

/// Converts a prompt into content of a user message. Messages of the assistant are marked as such.
pub(crate) fn prompt_content(prompt: GetPromptResult, redactor: &Redactor) -> Vec<Content> {
    let mut parts = Parts::default();
    for message in prompt.messages {
        let before = parts.texts.len();
        parts.block(message.content);
        if message.role == Role::Assistant
            && let Some(text) = parts.texts.get_mut(before)
        {
            *text = format!("[as the assistant] {text}");
        }
    }
    let mut content = Vec::new();
    let text = truncated(redactor.redact(&parts.texts.join("\n\n")));
    if !text.is_empty() {
        content.push(Content::Text(text));
    }
    content.extend(parts.images);
    content
}

/// Converts the contents of a resource into attachments of a prompt.
pub(crate) fn attachments(contents: Vec<ResourceContents>, redactor: &Redactor) -> Vec<Content> {
    let mut attachments = Vec::new();
    for contents in contents {
        match contents {
            ResourceContents::TextResourceContents { uri, mime_type, text, .. } => {
                let text = truncated(redactor.redact(&text));
                attachments.push(Content::Resource { uri, mime_type, text });
            }
            other => {
                let mut parts = Parts::default();
                parts.resource(other);
                attachments.extend(parts.texts.into_iter().map(Content::Text));
                attachments.extend(parts.images);
            }
        }
    }
    attachments
}

fn truncated(mut text: String) -> String {
    if text.len() > ATTACHED_BYTES {
        let bytes = text.len();
        text.truncate(agent::floor_char_boundary(&text, ATTACHED_BYTES));
        text.push_str(&format!("\n[… cut; the whole has {bytes} bytes]"));
    }
    text
}

/// Removes secrets from the output.
pub(crate) fn redacted(mut output: ToolOutput, redactor: &Redactor) -> ToolOutput {
    output.result.text = redactor.redact(&output.result.text);
    for shown in output.shown.iter_mut().flatten() {
        if let ToolContent::Content(Content::Text(text)) = shown {
            *text = redactor.redact(text);
        }
    }
    output
}

#[derive(Default)]
struct Parts {
    texts: Vec<String>,
    images: Vec<Content>,
}

impl Parts {
    fn block(&mut self, block: ContentBlock) {
        match block {
            ContentBlock::Text(text) => self.texts.push(text.text),
            ContentBlock::Image(image) => self.image(image.mime_type, image.data),
            ContentBlock::Audio(audio) => {
                self.texts.push(format!(
                    "[audio, {}, about {} bytes]",
                    audio.mime_type,
                    audio.data.len() / 4 * 3
                ));
            }
            ContentBlock::Resource(embedded) => self.resource(embedded.resource),
            ContentBlock::ResourceLink(link) => {
                let about =
                    link.description.or(link.title).map(|about| format!(": {about}")).unwrap_or_default();
                self.texts.push(format!("[resource {} at {}{about}]", link.name, link.uri));
            }
            // Kinds of content that newer versions of the library add.
            other => {
                let kind = serde_json::to_value(&other).ok();
                let kind = kind.as_ref().and_then(|value| value["type"].as_str()).unwrap_or("unknown");
                self.texts.push(format!("[content of the kind {kind}, which is not understood]"));
            }
        }
    }

    fn resource(&mut self, contents: ResourceContents) {
        match contents {
            ResourceContents::TextResourceContents { uri, text, .. } => {
                self.texts.push(format!("[resource {uri}]\n{text}"));
            }
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => match mime_type {
                Some(mime) if mime.starts_with("image/") => self.image(mime, blob),
                mime => {
                    let mime = mime.map(|mime| format!("{mime}, ")).unwrap_or_default();
                    self.texts.push(format!("[resource {uri}, {mime}about {} bytes]", blob.len() / 4 * 3));
                }
            },
            _ => self.texts.push("[a resource that is not understood]".to_owned()),
        }
    }

    fn image(&mut self, mime_type: String, data: String) {
        // The runtime checks each image.
        if self.images.len() < IMAGES {
            self.images.push(Content::Image { mime_type, data });
        } else {
            self.texts.push(format!("[image, {mime_type}, about {} bytes, left out]", data.len() / 4 * 3));
        }
    }

    fn output(self, is_error: bool) -> ToolOutput {
        let Self { texts, images } = self;
        let mut text = texts.join("\n");
        if text.is_empty() {
            text = match images.len() {
                0 => "The call returned nothing.".to_owned(),
                1 => "[image]".to_owned(),
                many => format!("[{many} images]"),
            };
        }
        let mut shown = vec![ToolContent::Content(Content::text(text.clone()))];
        shown.extend(images.iter().cloned().map(ToolContent::Content));
        ToolOutput {
            result: ToolResult { text, images, is_error },
            shown: Some(shown),
            ..ToolOutput::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn content_blocks_become_text_and_images() {
        let result = serde_json::from_value(json!({ "content": [
            { "type": "text", "text": "one" },
            { "type": "image", "mimeType": "image/png", "data": "AAAA" },
            { "type": "image", "mimeType": "text/html", "data": "AAAA" },
            { "type": "audio", "mimeType": "audio/wav", "data": "AAAAAAAA" },
            { "type": "resource", "resource": { "uri": "a://b", "text": "two" } },
            { "type": "resource", "resource": { "uri": "a://c", "mimeType": "x/y", "blob": "AAAA" } },
            { "type": "resource_link", "uri": "a://d", "name": "d", "description": "more" },
        ] }));
        let output = call_output(result.unwrap());
        assert_eq!(
            output.result.text,
            "one\n[audio, audio/wav, about 6 bytes]\n[resource a://b]\ntwo\n\
             [resource a://c, x/y, about 3 bytes]\n[resource d at a://d: more]"
        );
        assert_eq!(output.result.images.len(), 2);
        assert_eq!(output.shown.unwrap().len(), 3);
        let structured = json!({ "content": [], "structuredContent": { "a": 1 }, "isError": true });
        let output = call_output(serde_json::from_value(structured).unwrap());
        assert_eq!((output.result.text.as_str(), output.result.is_error), (r#"{"a":1}"#, true));
    }
}
