//! `file_edit`: replaces texts in a file.

use super::{
    args, current_text, file_read,
    path::{self, GivenPath},
    replacements::{self, Replaced, Replacement},
    write_through::{self, Change, ComputeChange},
};
use crate::{
    Access, Description, Effect, Freshness, Location, Tool, ToolContent, ToolContext, ToolError, ToolKind,
    ToolOutput,
};
use async_trait::async_trait;
use serde_json::{Value, json};
use system::AbsPath;

/// Replaces texts that occur exactly once in a file, or all occurrences.
#[derive(Debug, serde::Deserialize)]
#[serde(try_from = "Raw")]
pub(super) struct FileEdit {
    path: GivenPath,
    replacements: Vec<Replacement>,
    prepared: Option<(Change, Replaced)>,
}

#[derive(serde::Deserialize)]
struct Raw {
    path: GivenPath,
    old_string: Option<String>,
    new_string: Option<String>,
    #[serde(default, deserialize_with = "args::flag")]
    replace_all: bool,
    #[serde(default, deserialize_with = "replacements::list")]
    edits: Vec<Replacement>,
}

impl TryFrom<Raw> for FileEdit {
    type Error = &'static str;

    fn try_from(raw: Raw) -> Result<Self, &'static str> {
        let is_blank = |text: &Option<String>| text.as_ref().is_none_or(String::is_empty);
        let replacements = match (raw.edits, raw.old_string, raw.new_string) {
            (edits, old, new) if !edits.is_empty() => match is_blank(&old) && is_blank(&new) {
                true => edits,
                false => return Err("give either `edits` or `old_string` and `new_string`, not both"),
            },
            (_, Some(old_string), Some(new_string)) => {
                vec![Replacement { old_string, new_string, replace_all: raw.replace_all }]
            }
            (_, None, Some(_)) => return Err("missing field `old_string`"),
            (_, Some(_), None) => return Err("missing field `new_string`"),
            (_, None, None) => return Err("missing fields `old_string` and `new_string`"),
        };
        Ok(Self { path: raw.path, replacements, prepared: None })
    }
}

#[async_trait]
impl Tool for FileEdit {
    const NAME: &'static str = "file_edit";
    const DESCRIPTION: &'static str = "Replaces text in a file. `old_string` is the file's text exactly, without printed line numbers, and occurs once \
        (or set `replace_all`); empty, it creates a new file. `edits` makes several replacements in order, all or none.";
    const EFFECT: Effect = Effect::Writes;

    fn parameters() -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "old_string": {"type": "string"},
                "new_string": {"type": "string"},
                "replace_all": {"type": "boolean", "description": "Replace every occurrence"},
                "edits": {
                    "type": "array",
                    "description": "Instead of old_string and new_string",
                    "items": {
                        "type": "object",
                        "properties": {
                            "old_string": {"type": "string"},
                            "new_string": {"type": "string"},
                            "replace_all": {"type": "boolean"}
                        },
                        "required": ["old_string", "new_string"],
                        "additionalProperties": false
                    }
                }
            },
            "required": ["path"]
        })
    }

    fn paths(&mut self) -> Vec<&mut String> {
        vec![self.path.text()]
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
        let prepared = self.compute(cx).await?;
        let shown = vec![prepared.0.diff()];
        self.prepared = Some(prepared);
        Ok(shown)
    }

    async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let path = self.path.at(&cx.cwd);
        let prepared = self.prepared.take();
        let (change, replaced, written) = write_through::make(cx, &path, prepared, &*self).await?;
        let changed = match change.freshness {
            Freshness::Changed => {
                "\nThe file had changed since you last read it; the edit was made in its current text. Read it again before you rely on the rest of it."
            }
            Freshness::Fresh | Freshness::Unseen | Freshness::Partial => "",
        };
        let (removed, added) = (replaced.removed, replaced.added);
        let unsaved = change.unsaved_note();
        let done = match change.before() {
            Some(_) => format!("Edited {} (-{removed}, +{added} lines)", self.path),
            None => format!("Created {} ({added} lines)", self.path),
        };
        let text = format!("{done}{}{changed}{unsaved}{}", replaced.note, written.note);
        Ok(ToolOutput::shown(
            text,
            vec![write_through::diff(&change.path, change.now.text, Some(written.text))],
        ))
    }
}

#[async_trait]
impl ComputeChange for FileEdit {
    type Details = Replaced;

    fn knows_all(change: &Change) -> bool {
        change.freshness == Freshness::Fresh
    }

    /// Computes the change. A file that the model never saw may be edited: an old text that occurs
    /// exactly once proves that the model knows what it changes, and nothing else is touched.
    async fn compute(&self, cx: &ToolContext) -> Result<(Change, Replaced), ToolError> {
        let (path, name) = (self.path.at(&cx.cwd), self.path.to_string());
        let now = current_text::text_now(cx, &path, &name).await?;
        let before = now.text.as_deref();
        let creates = self.replacements.first().is_some_and(|first| first.old_string.is_empty());
        if before.is_none() && !creates {
            return Err(file_read::not_found(cx, &self.path, &path).await);
        }
        let freshness = cx.session.files.freshness(&path, before);
        if freshness == Freshness::Changed && current_text::writes_blindly(cx) {
            return Err(ToolError::message(format!(
                "{name} on disk is not what you last read or wrote, and the editor accepts writes but cannot be read: it may have newer text. Ask the \
                 user to save the file, read it again with file_read, then edit it."
            )));
        }
        let replaced = replacements::apply(&name, before, &self.replacements)?;
        let after = replaced.text.clone();
        Ok((Change { path, name, now, after, freshness }, replaced))
    }
}
