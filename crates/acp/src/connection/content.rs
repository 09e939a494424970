//! Checks of a prompt's content blocks that all protocol versions share.

use super::errors::invalid_params;
use crate::limits::IMAGE_BASE64;
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

/// Checks an image and converts it.
pub(crate) fn image(mime_type: String, data: String) -> Result<Content, String> {
    if !mime_type.starts_with("image/") {
        return Err(format!("an image's mimeType begins with image/, not {mime_type:?}"));
    }
    if data.len() > IMAGE_BASE64 {
        return Err(format!(
            "the image is too large ({} characters of base64, the limit is {IMAGE_BASE64})",
            data.len()
        ));
    }
    match STANDARD.decode(&data) {
        Ok(bytes) if !bytes.is_empty() => Ok(Content::Image { mime_type, data }),
        Ok(_) => Err("the image is empty".to_owned()),
        Err(error) => Err(format!("the image's data is not base64: {error}")),
    }
}

/// Converts a binary embedded resource, which must be an image.
pub(crate) fn blob(uri: &str, mime_type: Option<String>, data: String) -> Result<Content, String> {
    match mime_type {
        Some(mime_type) if mime_type.starts_with("image/") => image(mime_type, data),
        mime_type => Err(format!(
            "{uri} is binary ({}); only text and images can be embedded, link it instead",
            mime_type.as_deref().unwrap_or("no media type")
        )),
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
