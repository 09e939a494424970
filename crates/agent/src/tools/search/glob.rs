//! `glob`: finds files by path.

use super::{
    page::Page,
    pattern::{Pattern, split_absolute},
};
use crate::{
    Access, Description, Effect, Location, Tool, ToolContext, ToolError, ToolKind, ToolOutput,
    limits::{GLOB_PATHS, GLOB_PATHS_MAX, WALK_FILES},
    tools::{
        args,
        cancel::unless_cancelled,
        output,
        path::{self, GivenPath},
    },
};
use async_trait::async_trait;
use serde_json::{Value, json};
use std::{cmp::Reverse, fmt::Write as _};
use system::AbsPath;

/// Lists files whose paths match a pattern.
#[derive(Debug, serde::Deserialize)]
pub(in crate::tools) struct Glob {
    pattern: String,
    #[serde(default, deserialize_with = "path::optional")]
    path: Option<GivenPath>,
    #[serde(default)]
    sort: Sort,
    #[serde(default, deserialize_with = "args::count")]
    limit: Option<u64>,
    #[serde(default, deserialize_with = "args::count")]
    offset: Option<u64>,
}

/// The order of the paths.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
enum Sort {
    #[default]
    Path,
    /// Most recently modified first.
    #[serde(alias = "mtime", alias = "time")]
    Modified,
}

#[async_trait]
impl Tool for Glob {
    const NAME: &'static str = "glob";
    const DESCRIPTION: &'static str = "Finds files by path: `**/*.rs`, `src/*.{ts,tsx}`; a pattern without `/` matches names at any depth. Hidden and ignored files \
        are skipped unless the pattern names them.";
    const EFFECT: Effect = Effect::Reads;

    fn parameters() -> Value {
        json!({
            "type": "object",
            "properties": {
                "pattern": {"type": "string"},
                "path": {"type": "string", "description": "Folder"},
                "sort": {"type": "string", "enum": ["path", "modified"]},
                "limit": {"type": "integer", "description": "Default 200"},
                "offset": {"type": "integer"}
            },
            "required": ["pattern"]
        })
    }

    fn paths(&mut self) -> Vec<&mut String> {
        self.path.iter_mut().map(GivenPath::text).collect()
    }

    fn describe(&self, cwd: &AbsPath) -> Description {
        let locations = vec![Location { path: self.root(cwd), line: None }];
        Description { title: "Find files".to_owned(), kind: ToolKind::Search, locations }
    }

    fn accesses(&self, cwd: &AbsPath) -> Vec<Access> {
        vec![Access::Read(self.root(cwd))]
    }

    async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let pattern = Pattern::new(split_absolute(&self.pattern).1)?;
        let files = super::files(cx, &self.root(&cx.cwd), pattern.include_ignored).await?;
        let mut found = files.paths;
        found.retain(|file| pattern.matches(file, &files.base));
        if self.sort == Sort::Modified {
            found = newest_first(cx, found).await?;
        }
        let page = Page::new(self.offset, self.limit, GLOB_PATHS, GLOB_PATHS_MAX);
        let shown: Vec<_> = found.iter().skip(page.offset()).take(page.limit()).collect();
        let shown: Vec<_> = shown.into_iter().map(|file| path::shown(file, &cx.cwd)).collect();
        let mut text = match (found.len(), shown.is_empty()) {
            (0, _) => {
                let place = self.path.as_ref().map_or_else(|| ".".to_owned(), ToString::to_string);
                format!("No files matching '{}' in {place}", self.pattern)
            }
            (all, true) => {
                format!("No more than {all} files match '{}'; pass a smaller offset", self.pattern)
            }
            (_, false) => shown.join("\n"),
        };
        let more = found.len().saturating_sub(page.end());
        if more > 0 {
            let _ = write!(text, "\n... {more} more files; pass offset {} or a narrower pattern", page.end());
        }
        if files.partial {
            let _ = write!(text, "\n(only the first {WALK_FILES} files were searched; pass a deeper path)");
        }
        Ok(ToolOutput::text(output::within(cx, text).await))
    }
}

impl Glob {
    fn root(&self, cwd: &AbsPath) -> AbsPath {
        match split_absolute(&self.pattern).0 {
            Some(folder) => AbsPath::new(folder).unwrap_or_else(|_| cwd.clone()),
            None => root(self.path.as_ref(), cwd),
        }
    }
}

/// Sorts files by modification time, newest first; files with an unknown time come last.
async fn newest_first(cx: &ToolContext, files: Vec<AbsPath>) -> Result<Vec<AbsPath>, ToolError> {
    let known = unless_cancelled(cx, cx.system.metadata_of(&files)).await?;
    let times = known.into_iter().map(|found| found.ok().and_then(|found| found.modified));
    let mut timed: Vec<_> = times.zip(files).collect();
    timed.sort_by_key(|(time, _)| Reverse(*time));
    Ok(timed.into_iter().map(|(_, file)| file).collect())
}

/// Returns the directory or file to search.
pub(super) fn root(given: Option<&GivenPath>, cwd: &AbsPath) -> AbsPath {
    given.map_or_else(|| cwd.clone(), |given| given.at(cwd))
}
