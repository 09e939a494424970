//! Which bytes count as text: UTF-8, UTF-16 with a byte-order mark, or bytes that can only be
//! Windows-1252. Anything else is refused, because it would be shown as mojibake.

use crate::{AbsPath, SystemError, TextEncoding};
use encoding_rs::WINDOWS_1252;
use std::borrow::Cow;

/// Returns bytes as hexadecimal digits.
pub(crate) fn hexadecimal(bytes: impl AsRef<[u8]>) -> String {
    bytes.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The byte-order mark that some editors put at the start of UTF-8 files.
pub(crate) const BOM: &str = "\u{feff}";

/// Directories of dependencies, build products and version control. A walk enters them only with
/// [`crate::WalkOptions::include_ignored`], even if an ignore file re-includes them (`!*/`).
pub(crate) const SKIPPED_DIRECTORIES: [&str; 7] =
    ["node_modules", "vendor", "target", ".git", ".hg", ".jj", ".svn"];

/// The maximum percentage of non-ASCII characters in Windows-1252 text. Other 8-bit encodings have
/// more, because all letters of their scripts are outside ASCII.
const WINDOWS_PERCENT: usize = 30;

/// A range of lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextRange {
    /// The first line, counted from 1.
    pub line: usize,
    /// The maximum number of lines.
    pub limit: usize,
}

/// The encoding and byte-order mark of a text file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct TextForm {
    pub(crate) encoding: TextEncoding,
    /// Whether a UTF-8 file starts with a byte-order mark.
    pub(crate) marked: bool,
}

/// Decodes a whole file and removes the byte-order mark.
pub(crate) fn decode(path: &AbsPath, bytes: Vec<u8>) -> Result<(String, TextForm), SystemError> {
    let size = bytes.len() as u64;
    let not_text = || SystemError::NotText { path: path.clone(), size };
    if let Some(encoding) = utf16(&bytes) {
        let text = from_utf16(&bytes[2..], encoding).ok_or_else(not_text)?;
        return Ok((text, TextForm { encoding, marked: false }));
    }
    if bytes.contains(&0) {
        return Err(not_text());
    }
    match String::from_utf8(bytes) {
        Ok(mut text) => {
            let marked = text.starts_with(BOM);
            if marked {
                text.drain(..BOM.len());
            }
            Ok((text, TextForm { encoding: TextEncoding::Utf8, marked }))
        }
        Err(error) => {
            let text = from_windows(error.as_bytes()).ok_or_else(not_text)?;
            Ok((text, TextForm { encoding: TextEncoding::Windows1252, marked: false }))
        }
    }
}

/// Returns how a file that is to be replaced is encoded; UTF-8 if it is not text.
pub(crate) fn text_form(path: &AbsPath, bytes: Vec<u8>) -> TextForm {
    decode(path, bytes).map(|(_, text_form)| text_form).unwrap_or_default()
}

/// Returns the form of a file with the content `now`, `None` for no file, if its text is `was`.
///
/// # Errors
/// [`SystemError::Changed`] if it is another text.
pub(crate) fn expect(path: &AbsPath, now: Option<&[u8]>, was: Option<&str>) -> Result<TextForm, SystemError> {
    let changed = || SystemError::Changed(path.clone());
    match (now, was) {
        (None, None) => Ok(TextForm::default()),
        (Some(bytes), Some(was)) => {
            let (text, form) = decode(path, bytes.to_vec()).map_err(|_| changed())?;
            if text == was.strip_prefix(BOM).unwrap_or(was) { Ok(form) } else { Err(changed()) }
        }
        _ => Err(changed()),
    }
}

/// Encodes `text` as the file was encoded before. Adds a byte-order mark if the file started with
/// one and `text` does not.
///
/// # Errors
/// [`SystemError::NotEncodable`] with the first character that the encoding lacks.
pub(crate) fn encode<'a>(
    path: &AbsPath,
    text: &'a str,
    form: TextForm,
) -> Result<Cow<'a, [u8]>, SystemError> {
    let body = text.strip_prefix(BOM).unwrap_or(text);
    let utf16 = |bytes: fn(u16) -> [u8; 2]| {
        Cow::Owned(BOM.encode_utf16().chain(body.encode_utf16()).flat_map(bytes).collect())
    };
    Ok(match form.encoding {
        TextEncoding::Utf8 if form.marked => Cow::Owned([BOM.as_bytes(), body.as_bytes()].concat()),
        TextEncoding::Utf8 => Cow::Borrowed(text.as_bytes()),
        TextEncoding::Utf16Le => utf16(u16::to_le_bytes),
        TextEncoding::Utf16Be => utf16(u16::to_be_bytes),
        TextEncoding::Windows1252 => {
            let is_missing = |char: &char| WINDOWS_1252.encode(char.encode_utf8(&mut [0; 4])).2;
            if let Some(char) = body.chars().find(is_missing) {
                return Err(SystemError::NotEncodable { path: path.clone(), encoding: form.encoding, char });
            }
            Cow::Owned(WINDOWS_1252.encode(body).0.into_owned())
        }
    })
}

/// Detects UTF-16 by its byte-order mark.
pub(crate) fn utf16(bytes: &[u8]) -> Option<TextEncoding> {
    match bytes {
        [0xff, 0xfe, ..] => Some(TextEncoding::Utf16Le),
        [0xfe, 0xff, ..] => Some(TextEncoding::Utf16Be),
        _ => None,
    }
}

fn from_utf16(bytes: &[u8], encoding: TextEncoding) -> Option<String> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let unit = |pair: &[u8; 2]| match encoding {
        TextEncoding::Utf16Be => u16::from_be_bytes(*pair),
        _ => u16::from_le_bytes(*pair),
    };
    let text: String = char::decode_utf16(pairs.iter().map(unit)).collect::<Result<_, _>>().ok()?;
    (rest.is_empty() && !text.contains('\0')).then_some(text)
}

/// Decodes bytes that are not UTF-8 if they look like Windows-1252: no control characters, few
/// non-ASCII characters, and no more valid UTF-8 sequences among these than invalid ones.
fn from_windows(bytes: &[u8]) -> Option<String> {
    let is_control =
        |byte: &u8| *byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c) || *byte == 0x7f;
    // The five bytes that Windows-1252 leaves undefined.
    let is_unknown = |byte: &u8| matches!(byte, 0x81 | 0x8d | 0x8f | 0x90 | 0x9d);
    if bytes.starts_with(b"%PDF-") || bytes.iter().any(|byte| is_control(byte) || is_unknown(byte)) {
        return None;
    }
    let beyond = bytes.iter().filter(|byte| !byte.is_ascii()).count();
    let (mut valid, mut invalid) = (0, 0);
    for chunk in bytes.utf8_chunks() {
        valid += chunk.valid().chars().filter(|char| !char.is_ascii()).count();
        invalid += usize::from(!chunk.invalid().is_empty());
    }
    let looks_like_it = beyond * 100 <= bytes.len() * WINDOWS_PERCENT && valid <= invalid;
    looks_like_it.then(|| WINDOWS_1252.decode_without_bom_handling(bytes).0.into_owned())
}

/// Returns the lines of a range with their line endings.
pub(crate) fn lines(text: &str, range: TextRange) -> String {
    text.split_inclusive('\n').skip(range.line.saturating_sub(1)).take(range.limit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path() -> AbsPath {
        AbsPath::new("/f").unwrap()
    }

    #[test]
    fn decoded_text_is_encoded_to_the_same_bytes() {
        for (bytes, text, encoding) in [
            (&b"caf\xe9 \x93x\x94\r\n"[..], "café “x”\r\n", TextEncoding::Windows1252),
            (b"\xff\xfea\0\xe9\0\n\0", "aé\n", TextEncoding::Utf16Le),
            (b"\xfe\xff\0a\xd8\x3d\xde\x00", "a😀", TextEncoding::Utf16Be),
            (b"\xff\xfe", "", TextEncoding::Utf16Le),
            ("\u{feff}grüße".as_bytes(), "grüße", TextEncoding::Utf8),
            ("grüße".as_bytes(), "grüße", TextEncoding::Utf8),
        ] {
            let (decoded, text_form) = decode(&path(), bytes.to_vec()).unwrap();
            assert_eq!((decoded.as_str(), text_form.encoding), (text, encoding));
            assert_eq!(&*encode(&path(), &decoded, text_form).unwrap(), bytes);
        }
    }

    #[test]
    fn ambiguous_bytes_are_not_text() {
        let mostly_utf8 = "grüße grüße grüße \u{e9}".as_bytes().iter().copied().chain([0xe9]).collect();
        for bytes in [
            b"a\0b".to_vec(),
            b"\x7fELF\xff".to_vec(),
            b"\x1b[31m\xe9".to_vec(),
            b"%PDF-1.4\n%\xe2\xe3".to_vec(),
            // Cyrillic in KOI8-R, and UTF-8 with one broken character.
            b"\xf0\xd2\xc9\xd7\xc5\xd4, \xcd\xc9\xd2".to_vec(),
            mostly_utf8,
            b"\xff\xfea".to_vec(),
            b"\xff\xfe\0\xd8".to_vec(),
        ] {
            let refused = decode(&path(), bytes.clone()).expect_err("this is no text");
            assert!(
                matches!(refused, SystemError::NotText { size, .. } if size == bytes.len() as u64),
                "{bytes:?}"
            );
        }
    }

    #[test]
    fn a_character_missing_in_the_encoding_is_named() {
        let text_form = TextForm { encoding: TextEncoding::Windows1252, marked: false };
        let refused = encode(&path(), "a → b", text_form).unwrap_err().to_string();
        assert!(refused.contains("'→' (U+2192)") && refused.contains("Windows-1252"), "{refused}");
    }
}
