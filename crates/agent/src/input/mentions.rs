//! Mentions of a source's resources in a prompt: `@NAME:URI` in its text, and links that are not
//! files.

use crate::{
    Content, Mention, Refused,
    input::attachments,
    input::attachments::Open,
    limits::MENTIONS,
    sources::Sources,
    text::mention::{after_at, word},
};
use system::System;

/// Attaches the content of each mention after the part of the prompt that contains it; a link is
/// replaced by its content. A mention without content stays as written, and the problem is
/// returned. A file URI is only requested if the file may be read.
pub(crate) async fn attach(
    content: Vec<Content>,
    sources: &Sources,
    system: &dyn System,
    open: &Open<'_>,
    refused: &Refused<'_>,
) -> (Vec<Content>, Vec<String>) {
    let (mut attached, mut problems, mut left) = (Vec::with_capacity(content.len()), Vec::new(), MENTIONS);
    for item in content {
        let (mentions, keeps) = match &item {
            Content::Text(text) => (mentioned(text), true),
            Content::ResourceLink { uri, .. } if !uri.starts_with("file:") => {
                (vec![Mention { of: None, uri: uri.clone() }], false)
            }
            _ => (Vec::new(), true),
        };
        let mut found = Vec::new();
        for mention in mentions.into_iter().take(left) {
            left -= 1;
            if !attachments::may_read(&mention.uri, system, open).await {
                let uri = crate::one_line(&mention.uri);
                problems.push(format!("{uri} is not attached: it is not in the project, or blocked"));
                continue;
            }
            match sources.attach(&mention, refused).await {
                Some(Ok(more)) => found.extend(more),
                Some(Err(why)) => problems.push(why),
                None => {}
            }
        }
        if keeps || found.is_empty() {
            attached.push(item);
        }
        attached.extend(found);
    }
    (attached, problems)
}

/// Finds the mentions in a text: an `@` at the beginning of a word, a name, a colon, and everything
/// up to whitespace without trailing punctuation.
fn mentioned(text: &str) -> Vec<Mention> {
    let mut mentions = Vec::new();
    for rest in after_at(text) {
        let Some((of, uri)) = word(rest).split_once(':') else { continue };
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let mention = Mention { of: Some(of.to_owned()), uri: uri.to_owned() };
        if !of.is_empty() && !uri.is_empty() && of.chars().all(plain) && !mentions.contains(&mention) {
            mentions.push(mention);
        }
    }
    mentions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mention_is_a_word_of_its_own() {
        let found = |text: &str| -> Vec<String> {
            let named = |mention: Mention| format!("{} {}", mention.of.unwrap(), mention.uri);
            mentioned(text).into_iter().map(named).collect()
        };
        for (text, expected) in [
            ("see @docs:notes://a/b, please", &["docs notes://a/b"][..]),
            ("@a:x @b:y (@c:z).", &["a x", "b y", "c z"]),
            ("@docs:a @docs:a", &["docs a"]),
            ("mail me@docs:a or @docs or @: or @docs: or @do/cs:a", &[]),
            ("ends @docs:demo://resource/1?x=1.", &["docs demo://resource/1?x=1"]),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
    }
}
