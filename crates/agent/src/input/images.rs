//! Images are checked before they are stored: one that no model accepts becomes a text.

use crate::{Content, ToolContent, ToolOutput, model::sendable_image};

/// Replaces each image of a prompt that cannot be sent to a model by a text, and corrects the media
/// types of the others. Returns a line for the user for each image that was left out.
pub(crate) fn check_prompt(content: &mut [Content]) -> Vec<String> {
    content.iter_mut().filter_map(check).collect()
}

/// Does the same for the result of a call. Its text says what was left out.
pub(crate) fn check_result(output: &mut ToolOutput) {
    let text = &mut output.result.text;
    output.result.images.retain_mut(|image| match check(image) {
        None => true,
        Some(why) => {
            text.push_str(&format!("\n[{why}]"));
            false
        }
    });
    for shown in output.shown.iter_mut().flatten() {
        if let ToolContent::Content(content) = shown {
            check(content);
        }
    }
}

/// Checks one part. Returns why it was left out, if it was.
fn check(part: &mut Content) -> Option<String> {
    let Content::Image { mime_type, data } = part else { return None };
    match sendable_image(data) {
        Ok(recognised) => {
            recognised.clone_into(mime_type);
            None
        }
        Err(fault) => {
            let why = format!("An image was left out: {fault}");
            *part = Content::text(format!("[{why}]"));
            Some(why)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ToolResult;
    use base64::{Engine as _, engine::general_purpose::STANDARD};

    fn image(bytes: &[u8]) -> Content {
        Content::Image { mime_type: "image/jpg".to_owned(), data: STANDARD.encode(bytes) }
    }

    #[test]
    fn an_image_that_no_model_accepts_becomes_a_text() {
        let gif = b"GIF89a\x01\0\x01\0\0\0\0\x21\xf9\x04\0\0\0\0\0\x3b";
        let mut content = [image(gif), Content::text("see"), image(b"BM a bitmap")];
        let why = "An image was left out: it is not a PNG, JPEG, GIF or WebP image";
        assert_eq!(check_prompt(&mut content), [why]);
        assert!(matches!(&content[0], Content::Image { mime_type, .. } if mime_type == "image/gif"));
        assert_eq!(content[2], Content::text(format!("[{why}]")));

        let result = ToolResult { images: vec![image(gif), image(b"")], ..ToolResult::ok("done") };
        let shown = Some(vec![ToolContent::Content(image(b"x"))]);
        let mut output = ToolOutput { result, shown, ..ToolOutput::default() };
        check_result(&mut output);
        assert_eq!(output.result.images.len(), 1);
        assert_eq!(output.result.text, "done\n[An image was left out: its data is not base64]");
        assert!(matches!(&output.shown.unwrap()[0], ToolContent::Content(Content::Text(_))));
    }
}
