//! `file_edit`: one text in a file replaced by another.

use super::{
    args,
    edit::{self, EditError, Edited},
    file_read, nearest,
    path::{self, GivenPath},
    write_through::{self, Change},
};
use crate::{
    Access, Description, Effect, Freshness, Location, Tool, ToolContent, ToolContext, ToolError, ToolKind,
    ToolOutput,
};
use async_trait::async_trait;
use serde_json::{Value, json};
use system::AbsPath;

/// Replaces a text that occurs once in a file, or everywhere.
#[derive(Debug, serde::Deserialize)]
pub(super) struct FileEdit {
    path: GivenPath,
    old_string: String,
    new_string: String,
    #[serde(default, deserialize_with = "args::flag")]
    replace_all: bool,
    #[serde(skip)]
    prepared: Option<(Change, Edited)>,
}

#[async_trait]
impl Tool for FileEdit {
    const NAME: &'static str = "file_edit";
    const DESCRIPTION: &'static str = "Replaces text in a file. `old_string` must match exactly, including whitespace and indentation, and must \
        occur once unless `replace_all` is true. Do not include the line numbers that file_read shows.";
    const EFFECT: Effect = Effect::Writes;

    fn parameters() -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "File, absolute or relative to the project folder"},
                "old_string": {"type": "string", "description": "The text to replace"},
                "new_string": {"type": "string", "description": "The text to put in its place"},
                "replace_all": {"type": "boolean", "description": "Replace every occurrence (default false)"}
            },
            "required": ["path", "old_string", "new_string"]
        })
    }

    fn describe(&self, cwd: &AbsPath) -> Description {
        Description {
            title: format!("Edit {}", path::shown(&self.path.at(cwd), cwd)),
            kind: ToolKind::Edit,
            locations: vec![Location { path: self.path.at(cwd), line: None }],
        }
    }

    fn accesses(&self, cwd: &AbsPath) -> Vec<Access> {
        vec![Access::Write(self.path.at(cwd))]
    }

    async fn prepare(&mut self, cx: &ToolContext) -> Result<Vec<ToolContent>, ToolError> {
        let prepared = self.decide(cx).await?;
        let shown = vec![prepared.0.diff()];
        self.prepared = Some(prepared);
        Ok(shown)
    }

    async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let (change, edited) = match self.prepared.take() {
            Some(prepared) => prepared,
            None => self.decide(cx).await?,
        };
        change.still_fits(cx).await?;
        let written = change.write(cx, change.freshness == Freshness::Fresh).await?;
        let changed = match change.freshness {
            Freshness::Changed => {
                "\nThe file had changed since you last read it; the edit was made in its current text. Read it again before you rely on the rest of it."
            }
            Freshness::Fresh | Freshness::Unseen | Freshness::Partial => "",
        };
        let (removed, added) = (edited.removed, edited.added);
        let unsaved = change.unsaved_note();
        let text =
            format!("Edited {} (-{removed}, +{added} lines){changed}{unsaved}{}", self.path, written.note);
        Ok(ToolOutput::shown(
            text,
            vec![write_through::diff(&change.path, change.before, Some(written.text))],
        ))
    }
}

impl FileEdit {
    /// A file that the model never saw may be edited: an old text that occurs exactly once proves that the model knows what it changes, and nothing
    /// else is touched.
    async fn decide(&self, cx: &ToolContext) -> Result<(Change, Edited), ToolError> {
        let (path, name) = (self.path.at(&cx.cwd), self.path.to_string());
        if self.old_string.is_empty() {
            return Err(explain(&name, "", "", EditError::EmptyOld));
        }
        let now = write_through::text_now(cx, &path, &name).await?;
        let Some(before) = now.text else {
            return Err(file_read::not_found(cx, &self.path, &path).await);
        };
        let freshness = cx.files.freshness(&path, Some(&before));
        if freshness == Freshness::Changed && write_through::writes_blindly(cx) {
            return Err(ToolError::message(format!(
                "{name} on disk is not what you last read or wrote, and the editor, which takes writes, cannot be read: it may hold newer text. Ask the \
                 user to save the file, read it again with file_read, then edit it."
            )));
        }
        let edited = edit::apply(&before, &self.old_string, &self.new_string, self.replace_all)
            .map_err(|error| explain(&name, &before, &self.old_string, error))?;
        let change = Change {
            path,
            name,
            before: Some(before),
            after: edited.text.clone(),
            freshness,
            unsaved: now.unsaved,
        };
        Ok((change, edited))
    }
}

/// A text with `old` replaced by `new`, where it occurs once or everywhere with `all`, and how many
/// lines went and came. `name` is what the model calls the file.
///
/// # Errors
/// What `file_edit` says where it does not fit.
pub fn edited(
    name: &str,
    text: &str,
    old: &str,
    new: &str,
    all: bool,
) -> Result<(String, usize, usize), ToolError> {
    match edit::apply(text, old, new, all) {
        Ok(edited) => Ok((edited.text, edited.removed, edited.added)),
        Err(error) => Err(explain(name, text, old, error)),
    }
}

fn explain(path: &str, text: &str, old: &str, error: EditError) -> ToolError {
    ToolError::message(match error {
        EditError::EmptyOld => "old_string cannot be empty.".to_owned(),
        EditError::Same => "old_string and new_string are the same: there is nothing to change.".to_owned(),
        EditError::NotFound => format!(
            "old_string not found in {path}. Make sure it matches exactly including whitespace.{}",
            nearest::nearest(text, old)
        ),
        EditError::Ambiguous(lines) => format!(
            "old_string found multiple times in {path}. It must be unique. Provide more context.\n{} places, the first ones:{}",
            lines.len(),
            nearest::at_lines(text, &lines[..lines.len().min(5)])
        ),
    })
}
