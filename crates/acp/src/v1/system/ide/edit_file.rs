//! `ide_edit`.

use super::{
    IdeTool,
    write::{changed_meanwhile, diff, is_damaged, is_missing, not_decodable},
};
use agent::{
    Access, AnyCall, Description, Freshness, Location, ToolContent, ToolContext, ToolError, ToolKind,
    ToolOutput, tools,
};
use async_trait::async_trait;
use serde::Deserialize;
use system::AbsPath;

pub(super) struct EditFile {
    edit: Edit,
    tool: IdeTool,
    decided: Option<PlannedEdit>,
}

#[derive(Deserialize)]
pub(super) struct Edit {
    path: String,
    old_string: String,
    new_string: String,
    #[serde(default)]
    replace_all: bool,
}

/// An edit, and the text on which it was decided.
#[derive(PartialEq)]
struct PlannedEdit {
    before: String,
    after: String,
    removed: usize,
    added: usize,
    /// How the old text was matched, if not exactly.
    note: String,
    known: Freshness,
}

impl EditFile {
    pub(super) fn new(edit: Edit, tool: IdeTool) -> Self {
        Self { edit, tool, decided: None }
    }

    async fn plan_edit(&self, cx: &ToolContext) -> Result<PlannedEdit, ToolError> {
        let name = &self.edit.path;
        let path = cx.cwd.join(name);
        let read = cx.cancel.run_until_cancelled(self.tool.system.read_from_client(&path, None)).await;
        let before = match read.ok_or(ToolError::Cancelled(None))? {
            Ok(text) if is_damaged(&text) => return Err(not_decodable(name)),
            Ok(text) => text,
            Err(error) if is_missing(&error) => {
                return Err(ToolError::message(format!("File not found on the user's machine: {name}")));
            }
            Err(error) => return Err(self.tool.failed("reading", path.as_str(), error)),
        };
        let Edit { old_string, new_string, replace_all, .. } = &self.edit;
        let replaced = tools::edited(name, &before, old_string, new_string, *replace_all)?;
        let known = self.tool.seen.freshness(&path, Some(&before));
        let tools::Replaced { text: after, removed, added, note } = replaced;
        Ok(PlannedEdit { before, after, removed, added, note, known })
    }
}

#[async_trait]
impl AnyCall for EditFile {
    fn describe(&self, cwd: &AbsPath) -> Description {
        Description {
            title: format!("Edit {} in the editor", self.edit.path),
            kind: ToolKind::Edit,
            locations: vec![Location { path: cwd.join(&self.edit.path), line: None }],
        }
    }

    fn accesses(&self, cwd: &AbsPath) -> Vec<Access> {
        vec![Access::Write(cwd.join(&self.edit.path))]
    }

    async fn prepare(&mut self, cx: &ToolContext) -> Result<Vec<ToolContent>, ToolError> {
        self.tool.check_available()?;
        let decided = self.plan_edit(cx).await?;
        let shown = diff(&cx.cwd, &self.edit.path, Some(decided.before.clone()), decided.after.clone());
        self.decided = Some(decided);
        Ok(vec![shown])
    }

    async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        self.tool.check_available()?;
        let name = &self.edit.path;
        let _claim = self.tool.claim(cx, name).await?;
        let decided = self.plan_edit(cx).await?;
        let moved = self.decided.take().is_some_and(|prepared| prepared.before != decided.before);
        if moved && cx.call.asked {
            return Err(changed_meanwhile(name));
        }
        let written = self.tool.write(cx, name, Some(&decided.before), &decided.after).await?;
        let path = cx.cwd.join(name);
        let changed = match decided.known {
            Freshness::Fresh => {
                self.tool.seen.saw(&path, &written.text);
                ""
            }
            known => {
                self.tool.seen.touched(&path);
                match known {
                    Freshness::Changed => {
                        "\nThe file had changed since you last read it; the edit was made in its current text. Read it again with ide_read_file before you \
                         rely on the rest of it."
                    }
                    _ if moved => {
                        "\nThe file changed while this edit was on its way; it was made in the new text."
                    }
                    _ => "",
                }
            }
        };
        let PlannedEdit { removed, added, note, .. } = &decided;
        let text = format!("Edited {name} (-{removed}, +{added} lines){note}{changed}{}", written.note);
        Ok(ToolOutput::shown(text, vec![diff(&cx.cwd, name, Some(decided.before), written.text)]))
    }
}
