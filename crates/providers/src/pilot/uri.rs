//! Paths in `file:` URIs.

use percent_encoding::percent_decode_str;

/// Returns the path of a `file:///path` URI, percent-decoded; other URIs are returned unchanged.
pub(crate) fn path_of_uri(uri: &str) -> String {
    match uri.strip_prefix("file://") {
        Some(path) => percent_decode_str(path).decode_utf8_lossy().into_owned(),
        None => uri.to_owned(),
    }
}
