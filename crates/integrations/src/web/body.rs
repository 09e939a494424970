//! What a response contains: HTML, text or neither, in which encoding.

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

/// Bytes of an HTML page in which a declaration of its encoding counts.
const DECLARATION_BYTES: usize = 1_024;

/// The kind of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Html,
    /// Text of any other format.
    Text,
    /// Not text.
    Binary,
}

/// Returns the media type of a `Content-Type` header, in lower case, and its encoding.
pub(super) fn content_type(header: &str) -> (String, Option<&'static Encoding>) {
    let mut parts = header.split(';');
    let media = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
    let charset = parts.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"'))
    });
    (media, charset.and_then(|label| Encoding::for_label(label.as_bytes())))
}

/// Returns the kind of a body by its media type; without one, by its first bytes.
pub(super) fn kind(media: &str, bytes: &[u8]) -> Kind {
    let is_utf16 = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
    let start = &bytes[..bytes.len().min(DECLARATION_BYTES)];
    if start.contains(&0) && !is_utf16 {
        return Kind::Binary;
    }
    match media {
        "text/html" | "application/xhtml+xml" => Kind::Html,
        "" => {
            let start = String::from_utf8_lossy(start).trim_start().to_ascii_lowercase();
            let is_html = ["<!doctype html", "<html"].iter().any(|tag| start.starts_with(tag));
            if is_html { Kind::Html } else { Kind::Text }
        }
        media if is_text(media) => Kind::Text,
        _ => Kind::Binary,
    }
}

fn is_text(media: &str) -> bool {
    const FORMATS: &[&str] = &[
        "json",
        "xml",
        "javascript",
        "ecmascript",
        "yaml",
        "x-yaml",
        "toml",
        "x-ndjson",
        "jsonl",
        "sql",
        "graphql",
        "x-sh",
        "x-python",
        "x-httpd-php",
    ];
    let Some((group, format)) = media.split_once('/') else { return false };
    let suffix = format.rsplit_once('+').map(|(_, suffix)| suffix);
    group == "text"
        || (group == "application" && FORMATS.contains(&format))
        || matches!(suffix, Some("json" | "xml" | "yaml"))
}

/// Decodes a text: by its byte-order mark, else the header, else the page's own declaration, else
/// as UTF-8 if it is that, else as Windows-1252, which browsers assume.
pub(super) fn decode(bytes: &[u8], kind: Kind, header: Option<&'static Encoding>, is_whole: bool) -> String {
    let checked = if is_whole { bytes } else { without_cut_character(bytes) };
    let declared = || (kind == Kind::Html).then(|| declaration(bytes)).flatten();
    let guessed = || if std::str::from_utf8(checked).is_ok() { UTF_8 } else { WINDOWS_1252 };
    let encoding = header.or_else(declared).unwrap_or_else(guessed);
    let (text, _, _) = encoding.decode(bytes);
    text.into_owned()
}

/// Removes the beginning of a character whose rest was not read.
fn without_cut_character(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => &bytes[..error.valid_up_to()],
        _ => bytes,
    }
}

/// Returns the encoding that an HTML page declares of itself.
fn declaration(bytes: &[u8]) -> Option<&'static Encoding> {
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(DECLARATION_BYTES)]).to_ascii_lowercase();
    let (_, after) = start.split_once("charset=")?;
    let end = |c: char| matches!(c, '"' | '\'' | ';' | '>' | '/') || c.is_whitespace();
    let label = after.trim_start_matches(['"', '\'', ' ']).split(end).next()?;
    let encoding = Encoding::for_label(label.as_bytes())?;
    // A page in which this declaration can be read is not in UTF-16.
    Some(if encoding.is_ascii_compatible() { encoding } else { UTF_8 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_told_from_other_formats() {
        for (header, bytes, expected) in [
            ("text/html; charset=utf-8", &b"<p>"[..], Kind::Html),
            ("TEXT/HTML", b"", Kind::Html),
            ("text/markdown", b"# a", Kind::Text),
            ("application/json", b"{}", Kind::Text),
            ("application/ld+json;profile=x", b"{}", Kind::Text),
            ("image/svg+xml", b"<svg/>", Kind::Text),
            ("application/pdf", b"%PDF", Kind::Binary),
            ("application/octet-stream", b"text", Kind::Binary),
            ("image/png", b"\x89PNG", Kind::Binary),
            ("text/plain", b"a\0b", Kind::Binary),
            ("text/plain", b"\xff\xfea\0", Kind::Text),
            ("", b" <!DOCTYPE html><p>", Kind::Html),
            ("", b"plain", Kind::Text),
        ] {
            assert_eq!(kind(&content_type(header).0, bytes), expected, "{header} {bytes:?}");
        }
    }

    #[test]
    fn a_text_is_decoded_by_what_it_declares() {
        for (header, bytes, kind, expected) in [
            ("text/html; charset=\"ISO-8859-1\"", &b"caf\xe9"[..], Kind::Html, "café"),
            ("text/html", b"<meta charset='windows-1251'>\xcf", Kind::Html, "<meta charset='windows-1251'>П"),
            ("text/html", b"<meta charset=utf-16>\xc3\xa9", Kind::Html, "<meta charset=utf-16>é"),
            ("text/plain", "é漢".as_bytes(), Kind::Text, "é漢"),
            ("text/plain", b"caf\xe9", Kind::Text, "café"),
            ("text/plain", b"\xff\xfea\0b\0", Kind::Text, "ab"),
            ("text/plain; charset=nonsense", "é".as_bytes(), Kind::Text, "é"),
            ("text/plain; charset=shift_jis", b"\x8a\xbf", Kind::Text, "漢"),
        ] {
            assert_eq!(decode(bytes, kind, content_type(header).1, true), expected, "{header} {bytes:?}");
        }
        // The last character was cut off with the rest of the text.
        assert_eq!(decode(&"é漢".as_bytes()[..4], Kind::Text, None, false), "é\u{fffd}");
    }
}
