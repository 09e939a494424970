//! Converts the links of a prompt to content that a model can read.

use crate::{
    Content,
    limits::MENTIONS,
    text::{
        file_uri::{file_uri, file_uri_path},
        mention::{after_at, word},
    },
};
use std::sync::Arc;
use system::{AbsPath, System, TextRange};

/// Maximum size of a linked file that is included in the prompt, in bytes; a larger one is only
/// named.
const LINKED_BYTES: usize = 100_000;

/// Returns the system for reading a path, given the path and its resolved form; `None` if it must
/// not be read.
pub(crate) type Open<'a> = dyn Fn(&AbsPath, &AbsPath) -> Option<Arc<dyn System>> + Send + Sync + 'a;

/// Replaces each link to a text file of the project by its current text (the editor's, if reads are
/// delegated), and adds the text of the files that are mentioned: `@src/a.rs`, `@"my notes.md"`. A
/// link that leads outside, to a blocked path, or to something other than text stays a link: the
/// model sees it and may try to read it.
pub(crate) async fn expand(
    content: Vec<Content>,
    cwd: &AbsPath,
    system: &dyn System,
    open: &Open<'_>,
) -> Vec<Content> {
    let mut expanded = Vec::with_capacity(content.len());
    let mut left = MENTIONS;
    for item in content {
        let mut mentioned = Vec::new();
        let item = match item {
            Content::ResourceLink { uri, name } => match linked_text(&uri, system, open).await {
                Some(text) => Content::Resource { uri, mime_type: None, text },
                None => Content::ResourceLink { uri, name },
            },
            Content::Text(text) => {
                for (path, place) in mentions(&text).into_iter().take(left) {
                    let uri = format!("{}{place}", file_uri(&cwd.join(path)));
                    if let Some(text) = linked_text(&uri, system, open).await {
                        left -= 1;
                        mentioned.push(Content::Resource { uri, mime_type: None, text });
                    }
                }
                Content::Text(text)
            }
            item => item,
        };
        expanded.push(item);
        expanded.extend(mentioned);
    }
    expanded
}

/// Returns the paths that a text mentions, each with the lines behind it: words that begin with
/// `@`. A path with blanks is in quotes.
fn mentions(text: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    for rest in after_at(text) {
        let word = match rest.strip_prefix('"').and_then(|rest| rest.split_once('"')) {
            Some((quoted, _)) => quoted,
            None => word(rest),
        };
        let lines = word.rfind('#').filter(|at| lines_of(&word[at + 1..]).is_some()).unwrap_or(word.len());
        let mention = word.split_at(lines);
        if !mention.0.is_empty() && !found.contains(&mention) {
            found.push(mention);
        }
    }
    found
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
    AbsPath::new(file_uri_path(split_place(uri).0)?).ok()
}

/// Splits the URI of a file from the lines that it names, if it does, and drops its query.
fn split_place(uri: &str) -> (&str, Option<TextRange>) {
    let (uri, lines) = match uri.rsplit_once('#').map(|(before, fragment)| (before, lines_of(fragment))) {
        Some((before, lines @ Some(_))) => (before, lines),
        _ => (uri, None),
    };
    (uri.split_once('?').map_or(uri, |(before, _)| before), lines)
}

/// Parses the fragment of a URI that names lines: `L3`, `L3:5`, `L3-5`, `L3-L5`. The numbers begin
/// at 1, and the last line belongs to them.
fn lines_of(fragment: &str) -> Option<TextRange> {
    let lines = fragment.strip_prefix('L')?;
    let (first, last) = lines.split_once([':', '-']).unwrap_or((lines, lines));
    let first: usize = first.parse().ok().filter(|first| *first > 0)?;
    let last: usize = last.strip_prefix('L').unwrap_or(last).parse().ok()?;
    Some(TextRange { line: first, limit: last.checked_sub(first)? + 1 })
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
    let text = open(&path, &canonical)?.read_text(&path, split_place(uri).1).await.ok()?;
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

    #[tokio::test]
    async fn links_and_mentions_bring_the_text_that_they_name() {
        let system = Arc::new(system::FakeSystem::new());
        system.add_file("/w/a.rs", "one\ntwo\nthree\n");
        system.add_file("/w/my notes.md", "notes\n");
        system.add_file("/w/odd#name", "odd\n");
        system.add_file("/etc/passwd", "canary");
        let opened: Arc<dyn System> = system.clone();
        let open =
            move |_: &AbsPath, real: &AbsPath| real.as_str().starts_with("/w/").then(|| opened.clone());
        let cwd = AbsPath::new("/w").unwrap();
        let link = |uri: &str| Content::ResourceLink { uri: uri.to_owned(), name: "a".to_owned() };
        for (item, expected) in [
            (link("file:///w/a.rs"), &["one\ntwo\nthree\n"][..]),
            (link("file:///w/a.rs#L2"), &["two\n"]),
            (link("file:///w/a.rs#L2:3"), &["two\nthree\n"]),
            (link("file:///w/a.rs?symbol=f#L1-L2"), &["one\ntwo\n"]),
            (link("file:///w/odd%23name"), &["odd\n"]),
            (link("file:///etc/passwd#L1"), &[]),
            (
                Content::text("see @a.rs, (@a.rs#L3) @\"my notes.md\" @none.rs @/etc/passwd me@a.rs"),
                &["one\ntwo\nthree\n", "three\n", "notes\n"],
            ),
        ] {
            let expanded = expand(vec![item.clone()], &cwd, system.as_ref(), &open).await;
            let texts: Vec<_> = expanded
                .iter()
                .filter_map(|item| match item {
                    Content::Resource { text, .. } => Some(text.as_str()),
                    _ => None,
                })
                .collect();
            assert_eq!(
                texts.iter().map(|text| text.trim_end()).collect::<Vec<_>>(),
                expected.iter().map(|text| text.trim_end()).collect::<Vec<_>>(),
                "{item:?}"
            );
        }
        let attached =
            [Content::Resource { uri: "file:///w/a.rs#L2".to_owned(), mime_type: None, text: String::new() }];
        assert_eq!(files(&attached), [AbsPath::new("/w/a.rs").unwrap()]);
    }

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
