//! File URIs.

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use system::AbsPath;

/// The characters that a path in a URI must not contain.
const NOT_IN_PATH: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'[')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// Returns the `file://` URI of a path.
pub(crate) fn file_uri(path: &AbsPath) -> String {
    format!("file://{}", utf8_percent_encode(path.as_str(), NOT_IN_PATH))
}

/// Returns the path of a `file://` URI of this machine ([RFC 8089]): an absolute path. `None` for
/// other schemes and hosts, and for malformed escapes.
///
/// [RFC 8089]: https://www.rfc-editor.org/rfc/rfc8089
pub fn file_uri_path(uri: &str) -> Option<String> {
    let rest = uri.strip_prefix("file://")?;
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    let is_escape = |at: usize| {
        let digits = path.as_bytes().get(at + 1..at + 3);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    let is_valid = path.starts_with('/') && path.match_indices('%').all(|(at, _)| is_escape(at));
    is_valid.then(|| percent_decode_str(path).decode_utf8().ok().map(Into::into)).flatten()
}

#[cfg(test)]
mod tests {
    use super::{file_uri, file_uri_path};

    #[test]
    fn the_uri_of_a_path_leads_back_to_it() {
        for path in ["/a b/ü%20#?", "/x[1]{2}|^`\"<>", "/"] {
            let uri = file_uri(&system::AbsPath::new(path).unwrap());
            assert_eq!(file_uri_path(&uri).as_deref(), Some(path), "{uri}");
            assert!(uri.is_ascii() && !uri.contains([' ', '#', '?']), "{uri}");
        }
    }

    #[test]
    fn paths_of_this_machine_are_decoded() {
        for (uri, path) in [
            ("file:///a%20b/%C3%BC", Some("/a b/ü")),
            ("file://localhost/ü", Some("/ü")),
            ("file://elsewhere/x", None),
            ("file:///a%2", None),
            ("file:///a%zz", None),
            ("file:///a%ü", None),
            ("file:///a%ff", None),
            ("/a", None),
        ] {
            assert_eq!(file_uri_path(uri).as_deref(), path, "{uri}");
        }
    }
}
