//! Images that a prompt carries, recognised by their first bytes.

use agent::image_media_type;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use tui::driver::reply::Attachment;

/// Returns an image that models read, with its type and size; `None` for other bytes.
pub(crate) fn recognised(bytes: &[u8]) -> Option<Attachment> {
    let number = |at: usize| {
        let four = bytes.get(at..at + 4)?;
        Some(u32::from_be_bytes(four.try_into().ok()?))
    };
    let mime_type = image_media_type(bytes)?;
    let size = match (mime_type, bytes) {
        ("image/png", _) => number(16).zip(number(20)),
        ("image/gif", [_, _, _, _, _, _, a, b, c, d, ..]) => {
            Some((u16::from_le_bytes([*a, *b]).into(), u16::from_le_bytes([*c, *d]).into()))
        }
        _ => None,
    };
    let (width, height) = size.unwrap_or_default();
    Some(Attachment { mime_type: mime_type.to_owned(), data: STANDARD.encode(bytes), width, height })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_recognised_by_its_first_bytes() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x05\0\0\0\x02\xd0";
        let attachment = recognised(png).expect("a PNG");
        assert_eq!(
            (attachment.mime_type.as_str(), attachment.width, attachment.height),
            ("image/png", 1280, 720)
        );
        assert_eq!(recognised(b"GIF89a\x10\0\x08\0").expect("a GIF").width, 16);
        assert_eq!(recognised(b"\xFF\xD8\xFF\xE0").expect("a JPEG").mime_type, "image/jpeg");
        assert_eq!(recognised(b"RIFF\0\0\0\0WEBPVP8 ").expect("a WebP").mime_type, "image/webp");
        assert_eq!(recognised(b"#!/bin/sh"), None);
        assert_eq!(recognised(b""), None);
    }
}
