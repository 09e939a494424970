//! Converts wire types to domain types. Inner layers see no wire types.

use crate::connection::content::{blob, blocks};
use agent::Content;
use agent_client_protocol::{Error, v1::schema as acp};
use serde_json::Value;

/// Converts the blocks of a prompt. An error names the block and what is wrong with it.
pub(crate) fn prompt(given: Vec<Value>) -> Result<Vec<Content>, Error> {
    blocks(given, content)
}

fn content(kind: &str, block: Value) -> Result<Content, String> {
    match serde_json::from_value(block).map_err(|error| format!("bad {kind} block: {error}"))? {
        acp::ContentBlock::Text(text) => Ok(Content::Text(text.text)),
        acp::ContentBlock::Image(given) => {
            Ok(Content::Image { mime_type: given.mime_type, data: given.data })
        }
        acp::ContentBlock::ResourceLink(link) => Ok(Content::ResourceLink { uri: link.uri, name: link.name }),
        acp::ContentBlock::Resource(resource) => match resource.resource {
            acp::EmbeddedResourceResource::TextResourceContents(text) => {
                Ok(Content::Resource { uri: text.uri, mime_type: text.mime_type, text: text.text })
            }
            acp::EmbeddedResourceResource::BlobResourceContents(given) => {
                Ok(blob(given.uri, given.mime_type, given.blob))
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

    fn check(blocks: Value, expected: Result<Content, &str>) {
        let blocks = blocks.as_array().unwrap().clone();
        match (prompt(blocks), expected) {
            (Ok(content), Ok(expected)) => assert_eq!(content, [expected]),
            (Err(error), Err(part)) => {
                assert_eq!(i32::from(error.code), -32602);
                assert!(error.message.contains(part), "{:?} lacks {part:?}", error.message);
            }
            (got, expected) => panic!("{got:?} instead of {expected:?}"),
        }
    }

    #[test]
    fn accepts_the_four_content_kinds() {
        check(json!([{"type": "text", "text": "hi"}]), Ok(Content::text("hi")));
        let image = Content::Image { mime_type: "image/png".into(), data: "AAAA".into() };
        check(json!([{"type": "image", "mimeType": "image/png", "data": "AAAA"}]), Ok(image.clone()));
        check(
            json!([{"type": "resource_link", "uri": "file:///a", "name": "a"}]),
            Ok(Content::ResourceLink { uri: "file:///a".into(), name: "a".into() }),
        );
        check(
            json!([{"type": "resource", "resource": {"uri": "file:///a", "text": "t"}}]),
            Ok(Content::Resource { uri: "file:///a".into(), mime_type: None, text: "t".into() }),
        );
        let blob = json!({"uri": "file:///a", "blob": "AAAA", "mimeType": "image/png"});
        check(json!([{"type": "resource", "resource": blob}]), Ok(image));
    }

    #[test]
    fn an_error_names_the_invalid_block() {
        check(json!([]), Err("prompt is empty"));
        check(
            json!([{"type": "text", "text": "a"}, {"type": "video"}]),
            Err("prompt[1]: unknown content type \"video\""),
        );
        check(
            json!([{"type": "audio", "data": "", "mimeType": "audio/wav"}]),
            Err("prompt[0]: audio is not supported"),
        );
        check(json!([{"type": "text"}]), Err("prompt[0]: bad text block: missing field `text`"));
        check(json!(["x"]), Err("prompt[0]: a content block is an object"));
    }

    #[test]
    fn an_embedded_blob_never_refuses_the_prompt() {
        let link = |name: &str, kind: &str| {
            let name = format!("{name} ({kind}, content left out)");
            Ok(Content::ResourceLink { uri: "file:///w/a.bin".into(), name })
        };
        let text = |text: &str, mime_type: Option<&str>| {
            let mime_type = mime_type.map(str::to_owned);
            Ok(Content::Resource { uri: "file:///w/a.bin".into(), mime_type, text: text.into() })
        };
        for (mime_type, blob, expected) in [
            (None, "AAAA", link("a.bin", "binary")),
            (Some("application/pdf"), "JVBE/w==", link("a.bin", "application/pdf")),
            (Some("text/plain"), "aGk=", text("hi", Some("text/plain"))),
            (None, "aGk=", text("hi", None)),
            (None, "!", link("a.bin", "binary")),
        ] {
            let resource = json!({ "uri": "file:///w/a.bin", "blob": blob, "mimeType": mime_type });
            check(json!([{ "type": "resource", "resource": resource }]), expected);
        }
    }
}
