//! Whole files: `delete FILE`, `move FILE to FILE`, `apply this patch`.

use super::{
    file,
    lexer::Kind,
    limits,
    phrase::{Phrase, Split},
    progress::{Blocked, Call, Script},
    step::{Command, Outcome, ParsedStep, Step},
    verbs,
};
use serde_json::json;

/// Deletes a file.
pub(crate) const DELETE: Command = Command {
    verbs: verbs::DELETE_FILE,
    form: "delete FILE",
    example: "delete file old/notes.md",
    parse: delete,
};

/// Moves a file.
pub(crate) const MOVE: Command = Command {
    verbs: verbs::MOVE,
    form: "move FILE to FILE (or to FOLDER/)",
    example: "move notes.md to docs/notes.md",
    parse: relocate,
};

/// Applies a patch.
pub(crate) const PATCH: Command = Command {
    verbs: verbs::PATCH,
    form: "apply this patch: (a block from `*** Begin Patch` to `*** End Patch`)",
    example: "apply this patch:\n*** Begin Patch\n*** Add File: hello.txt\n+Hello\n*** End Patch",
    parse: patch,
};

/// A file to delete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeleteFile {
    /// The file.
    pub(crate) path: String,
}

/// A file to move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Move {
    /// The current path.
    pub(crate) from: String,
    /// The new path.
    pub(crate) to: String,
}

/// A patch to apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Patch {
    /// The text from `*** Begin Patch` to `*** End Patch`.
    pub(crate) patch: String,
}

fn delete(mut phrase: Phrase<'_>) -> Option<ParsedStep> {
    phrase.consume(&["delete", "remove", "erase"]).then(|| read_deletion(phrase))
}

fn read_deletion(phrase: Phrase<'_>) -> ParsedStep {
    Ok(Box::new(DeleteFile { path: phrase.file()? }))
}

fn relocate(mut phrase: Phrase<'_>) -> Option<ParsedStep> {
    phrase.consume(&["move", "rename"]).then(|| read_move(phrase))
}

fn read_move(phrase: Phrase<'_>) -> ParsedStep {
    let (from, mut to, into) = match (phrase.split(&["to", "as"]), phrase.split(&["into"])) {
        (Split::Once(from, to), Split::Absent) => (from, to, false),
        (Split::Absent, Split::Once(from, to)) => (from, to, true),
        (Split::Ambiguous(reason), _) | (_, Split::Ambiguous(reason)) => return Err(reason),
        _ => return Err("it does not say where to: move FILE to FILE".to_owned()),
    };
    let from = from.file()?;
    to.consume(&["the folder", "the directory", "folder", "directory"]);
    let to = if into { to.place()?.unwrap_or_else(|| ".".to_owned()) + "/" } else { to.file()? };
    let name = from.rsplit(['/', '\\']).next().unwrap_or(&from);
    let to = if to.ends_with('/') { format!("{}/{name}", to.trim_end_matches('/')) } else { to };
    if from == to {
        return Err("the file is there already".to_owned());
    }
    Ok(Box::new(Move { from, to }))
}

fn patch(mut phrase: Phrase<'_>) -> Option<ParsedStep> {
    let has_patch = phrase.tokens.first().is_some_and(|token| token.kind == Kind::Patch);
    if !has_patch && !phrase.consume(&["apply", "patch"]) {
        return None;
    }
    phrase.consume(&["this", "the", "the following"]);
    phrase.consume(&["patch", "diff", "following patch"]);
    Some(match phrase.trimmed().tokens {
        [only] if only.is_literal() => read_patch(only.text.trim()),
        [] => Err("the patch is missing: a block from `*** Begin Patch` to `*** End Patch`".to_owned()),
        _ => Err("a patch stands alone, as a block from `*** Begin Patch` to `*** End Patch`".to_owned()),
    })
}

fn read_patch(patch: &str) -> ParsedStep {
    if !patch.starts_with("*** Begin Patch") || !patch.ends_with("*** End Patch") {
        return Err("the patch must begin with `*** Begin Patch` and end with `*** End Patch`".to_owned());
    }
    let patch = Patch { patch: patch.to_owned() };
    match patch.files().len() {
        0 => Err("the patch names no file".to_owned()),
        count if count > limits::ITEMS => Err(format!("the patch names more than {} files", limits::ITEMS)),
        _ => Ok(Box::new(patch)),
    }
}

impl Step for DeleteFile {
    fn describe(&self) -> String {
        format!("delete `{}`", self.path)
    }

    fn tools(&self) -> &'static [&'static str] {
        &["file_read", "apply_patch"]
    }

    fn perform(&self, script: &mut Script<'_>) -> Result<Outcome, Blocked> {
        let file = file::open(script, &self.path)?;
        let patch = format!("*** Begin Patch\n*** Delete File: {}\n*** End Patch", file.path);
        script.call_or_fail("apply_patch", json!({ "patch": patch }))?;
        let line = format!("deleted `{}`", file.path);
        Ok(Outcome { line, shown: None, changed: vec![(file.path, "deleted".to_owned())] })
    }
}

impl Step for Move {
    fn describe(&self) -> String {
        format!("move `{}` to `{}`", self.from, self.to)
    }

    fn tools(&self) -> &'static [&'static str] {
        &["file_read", "apply_patch"]
    }

    fn perform(&self, script: &mut Script<'_>) -> Result<Outcome, Blocked> {
        let file = file::open(script, &self.from)?;
        let patch = format!(
            "*** Begin Patch\n*** Update File: {}\n*** Move to: {}\n*** End Patch",
            file.path, self.to
        );
        script.call_or_fail("apply_patch", json!({ "patch": patch }))?;
        let line = format!("moved `{}` to `{}`", file.path, self.to);
        Ok(Outcome { line, shown: None, changed: vec![(file.path, format!("moved to `{}`", self.to))] })
    }

    fn file(&self) -> Option<&str> {
        Some(&self.to)
    }
}

impl Step for Patch {
    fn describe(&self) -> String {
        let files: Vec<String> = self.files().iter().map(|(_, path)| format!("`{path}`")).collect();
        format!("apply the patch to {}", files.join(", "))
    }

    fn tools(&self) -> &'static [&'static str] {
        &["file_read", "apply_patch"]
    }

    fn perform(&self, script: &mut Script<'_>) -> Result<Outcome, Blocked> {
        let files = self.files();
        let existing = files.iter().filter(|(change, _)| *change != "added");
        let reads = existing
            .map(|(_, path)| Call { name: "file_read", arguments: json!({ "path": path }) })
            .collect();
        let failed = script.calls(reads)?.into_iter().find(|result| result.is_error);
        if let Some(failed) = failed {
            return Err(Blocked::Failed(failed.text.trim().to_owned()));
        }
        let output = script.call_or_fail("apply_patch", json!({ "patch": self.patch }))?;
        let changed = files.into_iter().map(|(change, path)| (path.to_owned(), change.to_owned())).collect();
        Ok(Outcome {
            line: output.lines().next().unwrap_or("patch applied").to_owned(),
            shown: None,
            changed,
        })
    }
}

impl Patch {
    /// Returns each file of the patch with the kind of change.
    fn files(&self) -> Vec<(&'static str, &str)> {
        let heads =
            [("added", "*** Add File: "), ("updated", "*** Update File: "), ("deleted", "*** Delete File: ")];
        let head = |line| {
            heads.iter().find_map(|(change, head)| Some((*change, str::strip_prefix(line, *head)?.trim())))
        };
        self.patch.lines().filter_map(head).collect()
    }
}
