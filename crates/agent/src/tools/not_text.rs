//! Reads of files that are not text: images, which models can view, and explanations for the
//! others.

use super::path::GivenPath;
use crate::{
    Content, ImageFault, ToolContent, ToolContext, ToolError, ToolOutput, ToolResult, readable_image,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use system::{AbsPath, SystemError};

/// Magic bytes of other formats, their names, and advice on how to read them.
const OTHERS: [(&[u8], &str, &str); 9] = [
    (b"%PDF-", "a PDF document", "Get its text with bash (`pdftotext FILE -`), if that is installed."),
    (b"PK\x03\x04", "a ZIP archive (or an office document)", "List it with bash (`unzip -l FILE`)."),
    (b"\x1f\x8b", "a gzip file", "Look into it with bash (`zcat FILE | head`, `tar tzf FILE`)."),
    (b"BZh", "a bzip2 file", "Look into it with bash (`bzcat FILE | head`, `tar tjf FILE`)."),
    (b"\xfd7zXZ\0", "an xz file", "Look into it with bash (`xzcat FILE | head`, `tar tJf FILE`)."),
    (b"\x28\xb5\x2f\xfd", "a Zstandard file", "Look into it with bash (`zstdcat FILE | head`)."),
    (b"\x7fELF", "an ELF program or library", "Look at it with bash (`file FILE`, `readelf -h FILE`)."),
    (b"SQLite format 3\0", "an SQLite database", "Look into it with bash (`sqlite3 FILE .schema`)."),
    (b"BM", "a BMP image", "Convert it with bash to PNG, then read that."),
];

/// Returns the image, or an explanation of why the file cannot be read.
pub(super) async fn read(
    cx: &ToolContext,
    given: &GivenPath,
    path: &AbsPath,
    size: u64,
) -> Result<ToolOutput, ToolError> {
    let bytes = match cx.system.read(path).await {
        Ok(bytes) => bytes,
        Err(SystemError::TooLarge { .. }) => Vec::new(),
        Err(error) => return Err(ToolError::message(format!("{given} is not readable: {error}"))),
    };
    let mime_type = match readable_image(&bytes) {
        Ok(mime_type) => mime_type,
        Err(ImageFault::Format | ImageFault::NotBase64) => {
            return Err(ToolError::message(other(given, size, &bytes)));
        }
        Err(fault @ ImageFault::TooLarge) => {
            return Err(ToolError::message(format!(
                "{given} is an image that cannot be read: {fault}. Make a smaller copy with bash, if there is a tool for \
                 that, and read the copy."
            )));
        }
        Err(fault @ ImageFault::Cut) => {
            return Err(ToolError::message(format!("{given} is an image that cannot be read: {fault}.")));
        }
    };
    let text = format!("{given} is an image ({mime_type}, {} bytes).", bytes.len());
    let image = Content::Image { mime_type: mime_type.to_owned(), data: STANDARD.encode(&bytes) };
    let shown = vec![ToolContent::Content(Content::text(&text)), ToolContent::Content(image.clone())];
    let result = ToolResult { images: vec![image], ..ToolResult::ok(text) };
    Ok(ToolOutput { result, shown: Some(shown), ..ToolOutput::default() })
}

fn other(given: &GivenPath, size: u64, bytes: &[u8]) -> String {
    match OTHERS.iter().find(|(start, ..)| bytes.starts_with(start)) {
        Some((_, kind, advice)) => {
            format!(
                "{given} is {kind} of {size} bytes, which is not text. {}",
                advice.replace("FILE", &given.to_string())
            )
        }
        None => format!(
            "{given} is not readable as text: {size} bytes of binary data, or of text in an encoding that is not known (only UTF-8, UTF-16 with a \
             byte-order mark and Windows-1252 are). Look at it with bash (`file {given}`, `xxd {given} | head`; `iconv` converts text)."
        ),
    }
}
