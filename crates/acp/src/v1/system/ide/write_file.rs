//! `ide_write_file`.

use super::{
    IdeTool,
    write::{changed_meanwhile, diff, is_damaged, is_missing, not_decodable},
};
use agent::{
    Access, AnyCall, Description, Freshness, Location, ToolContent, ToolContext, ToolError, ToolKind,
    ToolOutput,
};
use async_trait::async_trait;
use serde::Deserialize;
use system::AbsPath;

pub(super) struct WriteFile {
    write: Write,
    tool: IdeTool,
    /// The text to replace, once read; the inner `None` if the file does not exist or cannot be
    /// read.
    before: Option<Option<String>>,
}

#[derive(Deserialize)]
pub(super) struct Write {
    path: String,
    content: String,
}

impl WriteFile {
    pub(super) fn new(write: Write, tool: IdeTool) -> Self {
        Self { write, tool, before: None }
    }

    /// Reads the text that would be replaced. Fails if the model has not seen it.
    async fn read_old_text(&self, cx: &ToolContext) -> Result<Option<String>, ToolError> {
        let (name, path) = (&self.write.path, cx.cwd.join(&self.write.path));
        if !self.tool.system.capabilities().reads() {
            return Ok(None);
        }
        let read = cx.cancel.run_until_cancelled(self.tool.system.read_from_client(&path, None)).await;
        let before = match read.ok_or(ToolError::Cancelled(None))? {
            Ok(text) if is_damaged(&text) => return Err(not_decodable(name)),
            Ok(text) => text,
            Err(error) if is_missing(&error) => return Ok(None),
            Err(error) => {
                let reason = self.tool.system.caller.failure("reading", path.as_str(), error);
                let text = format!("{reason}, so {name} was not replaced. Nothing was written.");
                return Err(ToolError::message(text));
            }
        };
        let known = self.tool.seen.freshness(&path, Some(&before));
        if known == Freshness::Fresh || before.is_empty() || before == self.write.content {
            return Ok(Some(before));
        }
        let why = match known {
            Freshness::Changed => "has changed since you last read it",
            Freshness::Partial => "has been read in part only",
            Freshness::Fresh | Freshness::Unseen => "exists, and you have not read it",
        };
        Err(ToolError::message(format!(
            "{name} {why}. Read it with ide_read_file first, then write it. Nothing was written."
        )))
    }
}

#[async_trait]
impl AnyCall for WriteFile {
    fn describe(&self, cwd: &AbsPath) -> Description {
        Description {
            title: format!("Write {} in the editor", self.write.path),
            kind: ToolKind::Edit,
            locations: vec![Location { path: cwd.join(&self.write.path), line: None }],
        }
    }

    fn accesses(&self, cwd: &AbsPath) -> Vec<Access> {
        vec![Access::Write(cwd.join(&self.write.path))]
    }

    async fn prepare(&mut self, cx: &ToolContext) -> Result<Vec<ToolContent>, ToolError> {
        self.tool.check_available()?;
        let before = self.read_old_text(cx).await?;
        self.before = Some(before.clone());
        Ok(vec![diff(&cx.cwd, &self.write.path, before, self.write.content.clone())])
    }

    async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        self.tool.check_available()?;
        let name = &self.write.path;
        let _claim = self.tool.claim(cx, name).await?;
        let before = self.read_old_text(cx).await?;
        if self.before.take().is_some_and(|prepared| prepared != before) {
            return Err(changed_meanwhile(name));
        }
        let path = cx.cwd.join(name);
        let written = self.tool.write(cx, name, before.as_deref(), &self.write.content).await?;
        self.tool.seen.saw(&path, &written.text);
        let lines = self.write.content.lines().count();
        let text = format!("Wrote {lines} lines to {name}{}", written.note);
        Ok(ToolOutput::shown(text, vec![diff(&cx.cwd, name, before, written.text)]))
    }
}
