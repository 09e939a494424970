//! Images that a prompt carries, recognised by their content.

use agent::{ImageFault, readable_image};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use tui::driver::reply::Attachment;

/// Returns an image that models read, with its type and size.
///
/// # Errors
/// The reason why models do not read it.
pub(crate) fn recognised(bytes: &[u8]) -> Result<Attachment, ImageFault> {
    let number = |at: usize| {
        let four = bytes.get(at..at + 4)?;
        Some(u32::from_be_bytes(four.try_into().ok()?))
    };
    let mime_type = readable_image(bytes)?;
    let size = match (mime_type, bytes) {
        ("image/png", _) => number(16).zip(number(20)),
        ("image/gif", [_, _, _, _, _, _, a, b, c, d, ..]) => {
            Some((u16::from_le_bytes([*a, *b]).into(), u16::from_le_bytes([*c, *d]).into()))
        }
        _ => None,
    };
    let (width, height) = size.unwrap_or_default();
    Ok(Attachment { mime_type: mime_type.to_owned(), data: STANDARD.encode(bytes), width, height })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_recognised_by_its_content() {
        let png = include_bytes!("../tests/it/dot.png");
        let attachment = recognised(png).expect("a PNG");
        assert_eq!(
            (attachment.mime_type.as_str(), attachment.width, attachment.height),
            ("image/png", 1280, 720)
        );
        let gif = b"GIF89a\x10\0\x08\0\0\0\0\x21\xf9\x04\0\0\0\0\0\x3b";
        assert_eq!(recognised(gif).expect("a GIF").width, 16);
        assert_eq!(recognised(&png[..40]), Err(ImageFault::Cut));
        assert_eq!(recognised(b"#!/bin/sh"), Err(ImageFault::Format));
        assert_eq!(recognised(b""), Err(ImageFault::Format));
    }
}
