//! Undoes the changes of one file, the last first, as far as no one else changed the same lines
//! since.

use super::merge::merge;
use crate::{ContentHash, FileChange, Snapshot, StoreError};
use std::collections::HashMap;

/// The result of undoing a file's changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Undone {
    /// The file is already as it should be.
    Nothing,
    /// The file becomes this text, or is removed. The flag is set if changes of others are kept in
    /// it.
    To(Option<String>, bool),
    /// The file is left unchanged, for this reason.
    Left(String),
}

/// Access to the stored contents of a session.
pub(super) trait Contents {
    /// Returns a content, or `None` if it is not stored.
    async fn content(&self, hash: &ContentHash) -> Result<Option<Vec<u8>>, StoreError>;
}

/// Undoes the changes of one file, given in the order they were made, starting from its text now.
pub(super) async fn undo(
    changes: &[FileChange],
    now: Option<&str>,
    contents: &impl Contents,
) -> Result<Undone, StoreError> {
    let mut texts = Texts { contents, known: HashMap::new() };
    let begun = now.map(|text| texts.know(text.to_owned()));
    if changes.first().is_some_and(|first| first.before.as_ref().map(hash) == begun) {
        return Ok(Undone::Nothing);
    }
    let (mut mine, mut merged) = (begun.clone(), false);
    for FileChange { before, after, .. } in changes.iter().rev() {
        let (before, after) = (before.as_ref().map(hash), after.as_ref().map(hash));
        if mine == after {
            mine = before;
            continue;
        }
        if mine == before {
            continue;
        }
        let (Some(base), Some(ours), Some(theirs)) = (&after, &before, &mine) else {
            return Ok(Undone::Left(disagreement(after.is_some(), mine.is_some()).to_owned()));
        };
        let (base, ours, theirs) = (texts.get(base).await?, texts.get(ours).await?, texts.get(theirs).await?);
        let (Some(base), Some(ours), Some(theirs)) = (base, ours, theirs) else {
            return Ok(Undone::Left(NOT_KEPT.to_owned()));
        };
        let Some(text) = merge(&base, &ours, &theirs) else {
            return Ok(Undone::Left("the same lines have changed since; edit the file manually".to_owned()));
        };
        merged = true;
        mine = Some(texts.know(text));
    }
    if mine == begun {
        return Ok(Undone::Nothing);
    }
    let Some(hash) = mine else { return Ok(Undone::To(None, merged)) };
    Ok(match texts.get(&hash).await? {
        Some(text) => Undone::To(Some(text), merged),
        None => Undone::Left(NOT_KEPT.to_owned()),
    })
}

const NOT_KEPT: &str = "its earlier content was not kept: it was too large, too old, or not text";

fn disagreement(was_there: bool, is_there: bool) -> &'static str {
    match (was_there, is_there) {
        (true, false) => "it has been removed since",
        (false, true) => "it has been created again since",
        _ => "it did not exist before and has changed since; remove it manually if you do not want it",
    }
}

fn hash(snapshot: &Snapshot) -> ContentHash {
    snapshot.hash.clone()
}

/// Texts by their hashes, loaded from the store when needed.
struct Texts<'a, C> {
    contents: &'a C,
    known: HashMap<ContentHash, String>,
}

impl<C: Contents> Texts<'_, C> {
    fn know(&mut self, text: String) -> ContentHash {
        let hash = ContentHash::of(text.as_bytes());
        self.known.insert(hash.clone(), text);
        hash
    }

    async fn get(&mut self, hash: &ContentHash) -> Result<Option<String>, StoreError> {
        if let Some(text) = self.known.get(hash) {
            return Ok(Some(text.clone()));
        }
        Ok(self.contents.content(hash).await?.and_then(|bytes| String::from_utf8(bytes).ok()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use system::AbsPath;

    impl Contents for Vec<&str> {
        async fn content(&self, hash: &ContentHash) -> Result<Option<Vec<u8>>, StoreError> {
            let kept = self.iter().find(|text| ContentHash::of(text.as_bytes()) == *hash);
            Ok(kept.map(|text| text.as_bytes().to_vec()))
        }
    }

    fn change(before: Option<&str>, after: Option<&str>) -> FileChange {
        let path = AbsPath::new("/w/a").unwrap();
        let snapshot = |text: &str| Snapshot::of(text.as_bytes());
        let (before, after) = (before.map(snapshot), after.map(snapshot));
        FileChange { real: path.clone(), path, before, after, agent: None }
    }

    #[tokio::test]
    async fn each_change_is_taken_back_and_what_others_did_stays() {
        let (a, b, c) = (Some("1\n2\n3\n"), Some("one\n2\n3\n"), Some("one\ntwo\n3\n"));
        let kept =
            vec!["1\n2\n3\n", "one\n2\n3\n", "one\ntwo\n3\n", "one\n2\n3\n4\n5\n", "one\n2\n3\n4\nV\n"];
        let to = |text: Option<&str>, merged| Undone::To(text.map(str::to_owned), merged);
        let conflict =
            || Undone::Left("the same lines have changed since; edit the file manually".to_owned());
        let cases = [
            (vec![change(a, b)], b, to(a, false)),
            (vec![change(a, b), change(b, c)], c, to(a, false)),
            (vec![change(a, b)], a, Undone::Nothing),
            (vec![change(a, b), change(b, c)], a, Undone::Nothing),
            // Someone added a line after the change, or in between.
            (vec![change(a, b)], Some("one\n2\n3\n4\n"), to(Some("1\n2\n3\n4\n"), true)),
            (
                vec![change(a, b), change(Some("one\n2\n3\n4\n5\n"), Some("one\n2\n3\n4\nV\n"))],
                Some("one\n2\n3\n4\nV\n"),
                to(Some("1\n2\n3\n4\n5\n"), true),
            ),
            (vec![change(a, b)], Some("ONE\n2\n3\n"), conflict()),
            // A file that was created or removed.
            (vec![change(None, b)], b, to(None, false)),
            (vec![change(None, b)], None, Undone::Nothing),
            (vec![change(a, None)], None, to(a, false)),
            (vec![change(None, a), change(a, None)], None, Undone::Nothing),
            (vec![change(a, b)], None, Undone::Left("it has been removed since".to_owned())),
            (
                vec![change(a, None)],
                Some("new\n"),
                Undone::Left("it has been created again since".to_owned()),
            ),
            (vec![change(None, b)], Some("mine\n"), Undone::Left(disagreement(true, true).to_owned())),
            (vec![change(Some("gone\n"), b)], b, Undone::Left(NOT_KEPT.to_owned())),
        ];
        for (changes, now, expected) in cases {
            assert_eq!(undo(&changes, now, &kept).await, Ok(expected), "{changes:?} {now:?}");
        }
    }
}
