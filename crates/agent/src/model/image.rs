//! Whether an image can be sent to a model. The declared media type is not trusted: the format is
//! that of the content.

use base64::{Engine as _, engine::general_purpose::STANDARD};

/// Magic bytes of the four image formats that models accept, and their media types.
const IMAGES: [(&[u8], &str); 5] = [
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    // `RIFF` is followed by the file size, then `WEBP`.
    (b"RIFF", "image/webp"),
];

/// Maximum size of an image that is sent to a model, in bytes. The lowest limit of the large
/// vendors is 5 MB in base64.
pub const IMAGE_BYTES: usize = 3_750_000;

/// The number of base64 digits at each end of an image that are decoded to check it. A multiple of
/// four.
const CHECKED_DIGITS: usize = 64;

/// Why an image cannot be sent to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ImageFault {
    /// The data is not base64.
    #[error("its data is not base64")]
    NotBase64,
    /// The content is in none of the formats that models accept.
    #[error("it is not a PNG, JPEG, GIF or WebP image")]
    Format,
    /// The end of the image is missing.
    #[error("it is damaged: its end is missing")]
    Cut,
    /// The image is larger than the maximum size.
    #[error("it is larger than {IMAGE_BYTES} bytes")]
    TooLarge,
}

/// Returns the media type of an image's content, given its first bytes; `None` unless models accept
/// the format.
fn media_type(bytes: &[u8]) -> Option<&'static str> {
    let (_, media_type) = IMAGES.iter().find(|(start, _)| bytes.starts_with(start))?;
    (*media_type != "image/webp" || bytes.get(8..12) == Some(b"WEBP")).then_some(media_type)
}

/// Returns the media type of an image that can be sent to a model.
///
/// # Errors
/// The reason why it cannot be sent.
pub fn readable_image(bytes: &[u8]) -> Result<&'static str, ImageFault> {
    check(bytes, bytes, bytes.len())
}

/// Like [`readable_image`], for an image in base64. Only the two ends of the image are decoded, so
/// this is cheap enough for each request.
///
/// # Errors
/// The reason why it cannot be sent.
pub fn sendable_image(data: &str) -> Result<&'static str, ImageFault> {
    let digits = data.as_bytes();
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    if digits.is_empty() || !digits.len().is_multiple_of(4) || !digits.iter().all(is_digit) {
        return Err(ImageFault::NotBase64);
    }
    let decode = |digits: &[u8]| STANDARD.decode(digits).map_err(|_| ImageFault::NotBase64);
    let first = decode(&digits[..digits.len().min(CHECKED_DIGITS)])?;
    let last = decode(&digits[digits.len().saturating_sub(CHECKED_DIGITS)..])?;
    let size = digits.len() / 4 * 3 - digits.iter().rev().take_while(|digit| **digit == b'=').count();
    check(&first, &last, size)
}

/// Checks an image of this size by its two ends.
fn check(first: &[u8], last: &[u8], size: usize) -> Result<&'static str, ImageFault> {
    let media_type = media_type(first).ok_or(ImageFault::Format)?;
    if size > IMAGE_BYTES {
        return Err(ImageFault::TooLarge);
    }
    let is_whole = match media_type {
        "image/png" => contains(&last[last.len().saturating_sub(CHECKED_DIGITS)..], b"IEND"),
        // Cameras and editors append data after the end of a JPEG or a GIF, so only the beginning
        // of such a file tells something.
        "image/webp" => first.get(4..8).is_some_and(|length| {
            let length = u32::from_le_bytes([length[0], length[1], length[2], length[3]]);
            usize::try_from(length).is_ok_and(|length| length + 8 <= size)
        }),
        _ => size > 20,
    };
    if is_whole { Ok(media_type) } else { Err(ImageFault::Cut) }
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_judged_by_its_content() {
        let png = [b"\x89PNG\r\n\x1a\n".as_slice(), &[0; 60], b"\0\0\0\0IEND\xaeB`\x82"].concat();
        let webp = [b"RIFF\x14\0\0\0WEBP".as_slice(), &[0; 16]].concat();
        let jpeg = [b"\xff\xd8\xff\xe0".as_slice(), &[0; 60], b"\xff\xd9"].concat();
        let large = [png.clone(), vec![0; IMAGE_BYTES], png.clone()].concat();
        for (bytes, expected) in [
            (png.clone(), Ok("image/png")),
            (jpeg, Ok("image/jpeg")),
            (webp.clone(), Ok("image/webp")),
            (png[..40].to_vec(), Err(ImageFault::Cut)),
            (webp[..20].to_vec(), Err(ImageFault::Cut)),
            (b"BM a bitmap".to_vec(), Err(ImageFault::Format)),
            (b"<svg/>".to_vec(), Err(ImageFault::Format)),
            (large, Err(ImageFault::TooLarge)),
        ] {
            assert_eq!(sendable_image(&STANDARD.encode(&bytes)), expected, "{:?}", &bytes[..4]);
            assert_eq!(readable_image(&bytes), expected, "{:?}", &bytes[..4]);
        }
        for data in ["", "abc", "not base64!!", "data:image/png;base64,AAAA"] {
            assert_eq!(sendable_image(data), Err(ImageFault::NotBase64), "{data}");
        }
    }
}
