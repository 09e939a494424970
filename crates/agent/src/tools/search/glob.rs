//! `glob`: files by their paths.

use super::pattern::{Pattern, split_absolute};
use crate::{
    Access, Description, Effect, Location, Tool, ToolContext, ToolError, ToolKind, ToolOutput,
    limits::{GLOB_PATHS, WALK_FILES},
    tools::{
        output,
        path::{self, GivenPath},
    },
};
use async_trait::async_trait;
use serde_json::{Value, json};
use std::fmt::Write as _;
use system::AbsPath;

/// Lists files whose paths match a pattern.
#[derive(Debug, serde::Deserialize)]
pub(in crate::tools) struct Glob {
    pattern: String,
    #[serde(default, deserialize_with = "path::optional")]
    path: Option<GivenPath>,
}

#[async_trait]
impl Tool for Glob {
    const NAME: &'static str = "glob";
    const DESCRIPTION: &'static str = "Finds files by path: `**/*.rs`, `src/*.{ts,tsx}`; a pattern without `/` matches file names at any depth. Returns at most 200 \
        paths, sorted. Hidden and ignored files, node_modules, vendor and target are skipped unless the pattern names them.";
    const EFFECT: Effect = Effect::Reads;

    fn parameters() -> Value {
        json!({
            "type": "object",
            "properties": {
                "pattern": {"type": "string", "description": "Glob pattern, relative to path"},
                "path": {"type": "string", "description": "Folder to search (default: the project folder)"}
            },
            "required": ["pattern"]
        })
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
        let found: Vec<_> = files.paths.iter().filter(|file| pattern.matches(file, &files.base)).collect();
        let mut text = match found.is_empty() {
            true => {
                let place = self.path.as_ref().map_or_else(|| ".".to_owned(), ToString::to_string);
                format!("No files matching '{}' in {place}", self.pattern)
            }
            false => {
                let shown: Vec<_> =
                    found.iter().take(GLOB_PATHS).map(|file| path::shown(file, &cx.cwd)).collect();
                shown.join("\n")
            }
        };
        if found.len() > GLOB_PATHS {
            let _ = write!(text, "\n... {} more files (use a narrower pattern)", found.len() - GLOB_PATHS);
        }
        if files.partial {
            let _ = write!(text, "\n(only the first {WALK_FILES} files were looked at; pass a deeper path)");
        }
        Ok(ToolOutput::text(output::cap(text, &cx.limits)))
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

/// The folder or file that a search was pointed at.
pub(super) fn root(given: Option<&GivenPath>, cwd: &AbsPath) -> AbsPath {
    given.map_or_else(|| cwd.clone(), |given| given.at(cwd))
}
