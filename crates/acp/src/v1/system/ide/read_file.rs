//! `ide_read_file`.

use super::IdeTool;
use agent::{
    Access, AnyCall, Description, Location, ToolContent, ToolContext, ToolError, ToolKind, ToolOutput, tools,
};
use async_trait::async_trait;
use serde::Deserialize;
use system::{AbsPath, TextRange};

/// The limit sent for a range without one.
const ALL_LINES: usize = 1_000_000;

pub(super) struct ReadFile {
    read: Read,
    tool: IdeTool,
}

#[derive(Deserialize)]
pub(super) struct Read {
    path: String,
    line: Option<usize>,
    limit: Option<usize>,
}

impl ReadFile {
    pub(super) fn new(read: Read, tool: IdeTool) -> Self {
        Self { read, tool }
    }
}

#[async_trait]
impl AnyCall for ReadFile {
    fn describe(&self, cwd: &AbsPath) -> Description {
        Description {
            title: format!("Read {} in the editor", self.read.path),
            kind: ToolKind::Read,
            locations: vec![Location { path: cwd.join(&self.read.path), line: self.read.line }],
        }
    }

    fn accesses(&self, cwd: &AbsPath) -> Vec<Access> {
        vec![Access::Read(cwd.join(&self.read.path))]
    }

    async fn prepare(&mut self, _cx: &ToolContext) -> Result<Vec<ToolContent>, ToolError> {
        self.tool.check_available()?;
        Ok(Vec::new())
    }

    async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        self.tool.check_available()?;
        let path = cx.cwd.join(&self.read.path);
        let range = (self.read.line.is_some() || self.read.limit.is_some()).then(|| TextRange {
            line: self.read.line.unwrap_or(1).max(1),
            limit: self.read.limit.unwrap_or(ALL_LINES),
        });
        let read = cx.cancel.run_until_cancelled(self.tool.system.read_from_client(&path, range)).await;
        let text = read
            .ok_or(ToolError::Cancelled(None))?
            .map_err(|error| self.tool.failed("reading", path.as_str(), error))?;
        if text.contains('\0') {
            let size = text.len();
            return Err(ToolError::message(format!(
                "{} is not readable as text: about {size} bytes of binary data. Look at it with ide_terminal.",
                self.read.path
            )));
        }
        let shown = tools::cap(text.clone(), &cx.limits);
        match range {
            None if shown == text => self.tool.seen.saw(&path, &text),
            Some(range) if shown == text => {
                let limit = text.lines().count().min(range.limit);
                self.tool.seen.saw_part(&path, TextRange { limit, ..range }, &text);
            }
            _ => {}
        }
        Ok(ToolOutput::text(if shown.is_empty() { format!("{} is empty.", self.read.path) } else { shown }))
    }
}
