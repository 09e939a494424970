//! Checks of a prompt's content blocks that all protocol versions share.

use super::errors::invalid_params;
use agent::Content;
use agent_client_protocol::Error;
use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;

/// Decodes the blocks of a prompt with `content`. An error names the block and what is wrong with
/// it.
pub(crate) fn blocks(
    blocks: Vec<Value>,
    content: impl Fn(&str, Value) -> Result<Content, String>,
) -> Result<Vec<Content>, Error> {
    if blocks.is_empty() {
        return Err(invalid_params("prompt is empty: send at least one content block"));
    }
    let decode = |block: Value| {
        let kind = kind(&block)?;
        content(&kind, block)
    };
    blocks
        .into_iter()
        .enumerate()
        .map(|(at, block)| decode(block).map_err(|wrong| invalid_params(format!("prompt[{at}]: {wrong}"))))
        .collect()
}

/// Converts an embedded resource in base64: an image, or text. Of anything else only the name is
/// kept, and the rest of the prompt goes on.
pub(crate) fn blob(uri: String, mime_type: Option<String>, data: String) -> Content {
    let text = || {
        let text = String::from_utf8(STANDARD.decode(&data).ok()?).ok()?;
        (!text.contains('\0')).then_some(text)
    };
    match mime_type {
        Some(mime_type) if mime_type.starts_with("image/") => Content::Image { mime_type, data },
        mime_type => {
            if let Some(text) = text() {
                return Content::Resource { uri, mime_type, text };
            }
            let name = uri.rsplit('/').next().unwrap_or(&uri);
            let kind = mime_type.as_deref().unwrap_or("binary");
            Content::ResourceLink { name: format!("{name} ({kind}, content left out)"), uri }
        }
    }
}

fn kind(block: &Value) -> Result<String, String> {
    match block.get("type").and_then(Value::as_str).unwrap_or_default() {
        kind @ ("text" | "image" | "resource" | "resource_link") => Ok(kind.to_owned()),
        "" => Err("a content block is an object with a type".to_owned()),
        "audio" => Err("audio is not supported; it is not among the prompt capabilities".to_owned()),
        other => Err(format!("unknown content type {other:?}; use text, image, resource or resource_link")),
    }
}
