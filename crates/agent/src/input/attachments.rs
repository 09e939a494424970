//! Converts the links of a prompt to content that a model can read.

use crate::{Content, text::file_uri::file_uri_path};
use std::sync::Arc;
use system::{AbsPath, System};

/// Maximum size of a linked file that is included in the prompt, in bytes; a larger one is only
/// named.
const LINKED_BYTES: usize = 100_000;

/// Returns the system for reading a path, given the path and its resolved form; `None` if it must
/// not be read.
pub(crate) type Open<'a> = dyn Fn(&AbsPath, &AbsPath) -> Option<Arc<dyn System>> + Send + Sync + 'a;

/// Replaces each link to a text file of the project by its current text (the editor's, if reads are
/// delegated). A link that leads outside, to a blocked path, or to something other than text stays
/// a link: the model sees it and may try to read it.
pub(crate) async fn expand(content: Vec<Content>, system: &dyn System, open: &Open<'_>) -> Vec<Content> {
    let mut expanded = Vec::with_capacity(content.len());
    for item in content {
        expanded.push(match &item {
            Content::ResourceLink { uri, .. } => match linked_text(uri, system, open).await {
                Some(text) => Content::Resource { uri: uri.clone(), mime_type: None, text },
                None => item,
            },
            _ => item,
        });
    }
    expanded
}

/// Whether a URI may be read: any URI that is not a file's, and files that `open` permits.
pub(crate) async fn may_read(uri: &str, system: &dyn System, open: &Open<'_>) -> bool {
    if !uri.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:")) {
        return true;
    }
    let Some(path) = file_path(uri) else { return false };
    match system.resolve(&path).await {
        Ok(canonical) => open(&path, &canonical).is_some(),
        Err(_) => false,
    }
}

fn file_path(uri: &str) -> Option<AbsPath> {
    AbsPath::new(file_uri_path(uri)?).ok()
}

/// Returns the paths of a prompt's attached files.
pub(crate) fn files(content: &[Content]) -> Vec<AbsPath> {
    let attached = content.iter().filter_map(|item| match item {
        Content::Resource { uri, .. } => file_path(uri),
        _ => None,
    });
    attached.collect()
}

async fn linked_text(uri: &str, system: &dyn System, open: &Open<'_>) -> Option<String> {
    let path = file_path(uri)?;
    let canonical = system.resolve(&path).await.ok()?;
    let text = open(&path, &canonical)?.read_text(&path, None).await.ok()?;
    (text.len() <= LINKED_BYTES).then_some(text)
}

/// Converts a prompt for the model: texts and images unchanged, resources as fenced text, links by
/// name.
pub(crate) fn for_model(content: &[Content]) -> Vec<Content> {
    content
        .iter()
        .map(|item| match item {
            Content::Text(_) | Content::Image { .. } => item.clone(),
            Content::Resource { uri, text, .. } => {
                let fence = if text.contains("```") { "~~~~" } else { "```" };
                Content::text(format!("Attached: {uri}\n{fence}\n{text}\n{fence}"))
            }
            Content::ResourceLink { uri, name } => {
                Content::text(format!("Attached by name only, read it if you need it: {name} ({uri})"))
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_with_a_fence_gets_another_fence() {
        let resource = Content::Resource {
            uri: "file:///a".to_owned(),
            mime_type: None,
            text: "```\nx\n```".to_owned(),
        };
        let Content::Text(text) = &for_model(&[resource])[0] else { panic!() };
        assert_eq!(text, "Attached: file:///a\n~~~~\n```\nx\n```\n~~~~");
    }
}
