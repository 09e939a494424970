//! Blocks of text between tags, for models.

/// Escapes untrusted text so that it cannot close the block that contains it.
pub(crate) fn within(tag: &str, text: &str) -> String {
    text.replace(&format!("</{tag}"), &format!("< /{tag}"))
}
