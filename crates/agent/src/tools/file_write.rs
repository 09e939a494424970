//! `file_write`: writes the whole text of a file.

use super::{
    current_text,
    edit::{self, elision},
    path::{self, GivenPath},
    write_through::{self, Change, ComputeChange},
};
use crate::{
    Access, Description, Effect, Freshness, Location, Tool, ToolContent, ToolContext, ToolError, ToolKind,
    ToolOutput,
};
use async_trait::async_trait;
use serde_json::{Value, json};
use system::AbsPath;

/// Creates a text file, or replaces one whose current text the model has seen.
#[derive(Debug, serde::Deserialize)]
pub(super) struct FileWrite {
    path: GivenPath,
    content: String,
    #[serde(skip)]
    change: Option<Change>,
}

#[async_trait]
impl Tool for FileWrite {
    const NAME: &'static str = "file_write";
    const DESCRIPTION: &'static str = "Creates a text file and its folders, or replaces all of an existing one (read it first). To change a part use \
        file_edit.";
    const EFFECT: Effect = Effect::Writes;

    fn parameters() -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "content": {"type": "string", "description": "The whole text of the file"}
            },
            "required": ["path", "content"]
        })
    }

    fn paths(&mut self) -> Vec<&mut String> {
        vec![self.path.text()]
    }

    fn describe(&self, cwd: &AbsPath) -> Description {
        Description {
            title: format!("Write {}", path::shown(&self.path.at(cwd), cwd)),
            kind: ToolKind::Edit,
            locations: vec![Location { path: self.path.at(cwd), line: None }],
        }
    }

    fn accesses(&self, cwd: &AbsPath) -> Vec<Access> {
        vec![Access::Write(self.path.at(cwd))]
    }

    async fn prepare(&mut self, cx: &ToolContext) -> Result<Vec<ToolContent>, ToolError> {
        let (change, ()) = self.compute(cx).await?;
        let shown = vec![change.diff()];
        self.change = Some(change);
        Ok(shown)
    }

    async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let path = self.path.at(&cx.cwd);
        let prepared = self.change.take().map(|change| (change, ()));
        let (change, (), written) = write_through::make(cx, &path, prepared, &*self).await?;
        let lines = change.after.lines().count();
        let text = format!("Wrote {lines} lines to {}{}", self.path, written.note);
        Ok(ToolOutput::shown(
            text,
            vec![write_through::diff(&change.path, change.now.text, Some(written.text))],
        ))
    }
}

#[async_trait]
impl ComputeChange for FileWrite {
    type Details = ();

    fn knows_all(_: &Change) -> bool {
        true
    }

    async fn compute(&self, cx: &ToolContext) -> Result<(Change, ()), ToolError> {
        let (path, name) = (self.path.at(&cx.cwd), self.path.to_string());
        let now = current_text::text_now(cx, &path, &name).await?;
        let before = now.text.as_deref();
        let freshness = cx.session.files.freshness(&path, before);
        let after = match before {
            Some(before) if !self.content.contains("\r\n") => {
                edit::with_line_ends(&self.content, edit::is_crlf(before))
            }
            _ => self.content.clone(),
        };
        // Overwriting is harmless if no text would be lost.
        let harmless = before
            .is_some_and(|before| before == after || (before.is_empty() && freshness == Freshness::Unseen));
        let refused = match freshness {
            Freshness::Fresh => None,
            _ if harmless => None,
            Freshness::Unseen => {
                Some("exists, and you have not read it. Read it with file_read first, then write it.")
            }
            Freshness::Partial => Some(
                "has been read in part only. Read the rest with file_read first, or change the part you know with file_edit.",
            ),
            Freshness::Changed => {
                Some("has changed since you last read it. Read it again with file_read, then write it.")
            }
        };
        if let Some(before) = before
            && let Some(line) = elision::added(&self.content, &[before])
        {
            return Err(ToolError::message(format!(
                "content has the line `{line}`, which stands for lines that are left out: {name} would lose them. Nothing was written. Give the whole \
                 text, or change only a part with file_edit."
            )));
        }
        match refused {
            Some(why) => Err(ToolError::message(format!("{name} {why} Nothing was written."))),
            None => Ok((Change { path, name, now, after, freshness }, ())),
        }
    }
}
