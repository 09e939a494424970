//! What a server's tools were when they were first seen. A server that is trusted may still change what a tool says it does.

use async_trait::async_trait;
use rmcp::model::Tool;
use serde_json::json;
use std::collections::BTreeMap;

/// Where it is kept what was seen: for each server (its fingerprint), each tool's hash.
#[async_trait]
pub trait Pins: Send + Sync {
    /// What was seen of a server, if anything was.
    async fn seen(&self, server: &str) -> Option<BTreeMap<String, String>>;

    /// Remembers what is seen of it now.
    async fn keep(&self, server: &str, tools: BTreeMap<String, String>);
}

/// What became of a tool since it was first seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// It is as it was, or nothing was seen of the server before.
    None,
    /// It was not there.
    Added,
    /// It says something else. It is left out until the user approves.
    Changed,
}

/// The hash of all that a tool says of itself.
pub fn definition_hash(tool: &Tool) -> String {
    let said = json!({
        "description": tool.description,
        "title": tool.title,
        "schema": tool.input_schema,
        "annotations": tool.annotations,
    });
    blake3::hash(said.to_string().as_bytes()).to_hex().to_string()
}

/// What became of each tool (name and hash), and what is to be remembered: everything that is as it was or new, and of what changed, what it was.
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

    #[test]
    fn s27_what_a_tool_said_first_is_remembered_until_somebody_approves() {
        let pair = |name: &str, hash: &str| (name.to_owned(), hash.to_owned());
        let (first, kept) = changes(None, &[pair("a", "1"), pair("b", "1")]);
        assert_eq!(first, [Change::None, Change::None]);
        let now = [pair("a", "2"), pair("b", "1"), pair("c", "1")];
        let (then, kept) = changes(Some(&kept), &now);
        assert_eq!(then, [Change::Changed, Change::None, Change::Added]);
        assert_eq!(changes(Some(&kept), &now).0, [Change::Changed, Change::None, Change::None]);
    }
}
