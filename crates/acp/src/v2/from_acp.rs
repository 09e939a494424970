//! Converts wire types to domain types. Inner layers see no wire types.

use crate::connection::content::{blob, blocks};
use agent::Content;
use agent_client_protocol::Error;
use agent_client_protocol_schema::v2 as acp;
use serde_json::Value;

/// Converts the blocks of a prompt. An error names the block and what is wrong with it.
pub(crate) fn prompt(given: Vec<Value>) -> Result<Vec<Content>, Error> {
    blocks(given, content)
}

fn content(kind: &str, block: Value) -> Result<Content, String> {
    match serde_json::from_value(block).map_err(|error| format!("bad {kind} block: {error}"))? {
        acp::ContentBlock::Text(text) => Ok(Content::Text(text.text)),
        acp::ContentBlock::Image(given) => {
            Ok(Content::Image { mime_type: given.mime_type.0.to_string(), data: given.data })
        }
        acp::ContentBlock::ResourceLink(link) => Ok(Content::ResourceLink { uri: link.uri, name: link.name }),
        acp::ContentBlock::Resource(resource) => match resource.resource {
            acp::EmbeddedResourceResource::TextResourceContents(text) => {
                let mime_type = text.mime_type.map(|kind| kind.0.to_string());
                Ok(Content::Resource { uri: text.uri, mime_type, text: text.text })
            }
            acp::EmbeddedResourceResource::BlobResourceContents(given) => {
                Ok(blob(given.uri, given.mime_type.map(|kind| kind.0.to_string()), given.blob))
            }
            _ => Err("unknown kind of embedded resource".to_owned()),
        },
        _ => Err(format!("{kind} blocks are not supported")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn accepts_the_four_content_kinds_and_names_a_bad_one() {
        let blob = json!({"uri": "file:///a", "blob": "AAAA", "mimeType": "image/png"});
        let image = Content::Image { mime_type: "image/png".into(), data: "AAAA".into() };
        for (block, expected) in [
            (json!({"type": "text", "text": "hi"}), Content::text("hi")),
            (json!({"type": "image", "mimeType": "image/png", "data": "AAAA"}), image.clone()),
            (
                json!({"type": "resource_link", "uri": "file:///a", "name": "a"}),
                Content::ResourceLink { uri: "file:///a".into(), name: "a".into() },
            ),
            (
                json!({"type": "resource", "resource": {"uri": "u", "text": "t", "mimeType": "text/plain"}}),
                Content::Resource { uri: "u".into(), mime_type: Some("text/plain".into()), text: "t".into() },
            ),
            (json!({"type": "resource", "resource": blob}), image),
        ] {
            assert_eq!(prompt(vec![block]).unwrap(), [expected]);
        }
        let error = prompt(vec![json!({"type": "text", "text": "a"}), json!({"type": "video"})]).unwrap_err();
        assert!(error.message.contains("prompt[1]: unknown content type"), "{}", error.message);
    }
}
