//! The definitions of a server's tools as they were first seen. Even a trusted server may later
//! change what a tool claims to do.

use crate::listed::ListedTool;
use async_trait::async_trait;
use std::{borrow::Cow, collections::BTreeMap};

/// The store of what was seen: a hash per tool, by server (its name and fingerprint).
#[async_trait]
pub trait Pins: Send + Sync {
    /// Returns the stored hashes of a server, if there are any.
    async fn seen(&self, server: &str) -> Option<BTreeMap<String, String>>;

    /// Stores a server's hashes.
    async fn keep(&self, server: &str, tools: BTreeMap<String, String>);
}

/// The change of a tool since it was first seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Unchanged, or the server is new.
    None,
    /// The tool is new.
    Added,
    /// The definition changed. The tool is left out until the user approves it.
    Changed,
}

/// Hashes a tool's description, title, annotations and schema; whitespace in the schema is ignored.
pub fn definition_hash(tool: &ListedTool) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut part = |text: &str| {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    };
    part(&tool.description);
    part(tool.title.as_deref().unwrap_or_default());
    let annotations = tool.annotations.as_ref();
    part(&annotations.and_then(|hints| serde_json::to_string(hints).ok()).unwrap_or_default());
    part(&without_space(tool.schema.text()));
    hasher.finalize().to_hex().to_string()
}

/// Removes insignificant whitespace from JSON.
fn without_space(text: &str) -> Cow<'_, str> {
    let (mut in_text, mut escaped) = (false, false);
    let mut kept = String::new();
    // `text[..from]` has been copied to `kept` or skipped.
    let mut from = 0;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b' ' | b'\n' | b'\r' | b'\t' if !in_text => {
                kept.push_str(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    if from == 0 {
        return Cow::Borrowed(text);
    }
    kept.push_str(&text[from..]);
    Cow::Owned(kept)
}

/// Returns the change of each tool (name and hash), and the hashes to store: new tools are added,
/// and a changed tool keeps its old hash.
pub fn changes(
    seen: Option<&BTreeMap<String, String>>,
    now: &[(String, String)],
) -> (Vec<Change>, BTreeMap<String, String>) {
    let Some(seen) = seen else {
        return (now.iter().map(|_| Change::None).collect(), now.iter().cloned().collect());
    };
    let mut keep = seen.clone();
    let changes = now.iter().map(|(name, hash)| match seen.get(name) {
        Some(known) if known == hash => Change::None,
        Some(_) => Change::Changed,
        None => {
            keep.insert(name.clone(), hash.clone());
            Change::Added
        }
    });
    let changes = changes.collect();
    (changes, keep)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listed;

    #[test]
    fn s27_every_word_changes_the_hash_and_whitespace_does_not() {
        let hash = |text: &str| definition_hash(&listed::parse_tool(text).unwrap().into());
        let first = hash(r#"{"name":"t","description":"a","inputSchema":{"a":"b \" c","d":[1,2]}}"#);
        let spaced = r#"{"name": "t", "description": "a", "inputSchema": { "a" : "b \" c",	"d": [1, 2] }}"#;
        assert_eq!(first, hash(spaced));
        for other in [
            r#"{"name":"t","description":"b","inputSchema":{"a":"b \" c","d":[1,2]}}"#,
            r#"{"name":"t","description":"a","inputSchema":{"a":"b\" c","d":[1,2]}}"#,
            r#"{"name":"t","description":"a","inputSchema":{"a":"b \" c","d":[12]}}"#,
            r#"{"name":"t","description":"a","title":"a","inputSchema":{"a":"b \" c","d":[1,2]}}"#,
            r#"{"name":"t","description":"a","annotations":{"readOnlyHint":true},"inputSchema":{"a":"b \" c","d":[1,2]}}"#,
        ] {
            assert_ne!(first, hash(other), "{other}");
        }
    }

    #[test]
    fn s27_the_first_definition_of_a_tool_is_kept_until_a_change_is_approved() {
        let pair = |name: &str, hash: &str| (name.to_owned(), hash.to_owned());
        let (first, kept) = changes(None, &[pair("a", "1"), pair("b", "1")]);
        assert_eq!(first, [Change::None, Change::None]);
        let now = [pair("a", "2"), pair("b", "1"), pair("c", "1")];
        let (then, kept) = changes(Some(&kept), &now);
        assert_eq!(then, [Change::Changed, Change::None, Change::Added]);
        assert_eq!(changes(Some(&kept), &now).0, [Change::Changed, Change::None, Change::None]);
    }
}
