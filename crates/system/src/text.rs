//! What is text: UTF-8 without NUL. Anything else is refused rather than shown as mojibake.

use crate::{AbsPath, SystemError, TextRange};
use std::borrow::Cow;

/// The byte-order mark that some editors put in front of UTF-8.
pub(crate) const BOM: &str = "\u{feff}";

/// Folders of dependencies and build products: walked only when ignored files are asked for.
pub(crate) const SKIPPED_FOLDERS: [&str; 3] = ["node_modules", "vendor", "target"];

/// Decodes a whole file; the byte-order mark is taken off. UTF-16 holds NUL or an invalid mark, so it is refused too.
pub(crate) fn decode(path: &AbsPath, bytes: Vec<u8>) -> Result<String, SystemError> {
    let size = bytes.len() as u64;
    let not_text = || SystemError::NotText { path: path.clone(), size };
    if bytes.contains(&0) {
        return Err(not_text());
    }
    let mut text = String::from_utf8(bytes).map_err(|_| not_text())?;
    if text.starts_with(BOM) {
        text.drain(..BOM.len());
    }
    Ok(text)
}

/// The bytes to write for `text`: with a byte-order mark when the file had one and the text brings none.
pub(crate) fn encode(text: &str, had_bom: bool) -> Cow<'_, [u8]> {
    if had_bom && !text.starts_with(BOM) {
        Cow::Owned([BOM.as_bytes(), text.as_bytes()].concat())
    } else {
        Cow::Borrowed(text.as_bytes())
    }
}

/// The lines of a range, with the line ends they have.
pub(crate) fn lines(text: &str, range: TextRange) -> String {
    text.split_inclusive('\n').skip(range.line.saturating_sub(1)).take(range.limit).collect()
}
