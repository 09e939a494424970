//! The tool `web_search`.

use super::{
    material::{fenced, material},
    options::CurrentOptions,
    search::{Domains, Search, SearchResult},
    state::Web,
};
use crate::limits::{QUERY_CHARS, RESULTS, RESULTS_MAX};
use agent::{
    Access, AnyCall, AnyTool, Content, Description, Effect, ToolContent, ToolContext, ToolError, ToolKind,
    ToolOutput, ToolSpec,
};
use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{borrow::Cow, sync::Arc};
use system::AbsPath;

pub(super) const NAME: &str = "web_search";

pub(super) struct WebSearch {
    pub(super) web: Arc<Web>,
    pub(super) options: Arc<CurrentOptions>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    query: String,
    #[serde(default)]
    limit: Option<u64>,
    #[serde(default)]
    allowed_domains: Vec<String>,
    #[serde(default)]
    blocked_domains: Vec<String>,
}

impl AnyTool for WebSearch {
    fn spec(&self) -> ToolSpec {
        let domains =
            |what: &str| json!({ "type": "array", "items": { "type": "string" }, "description": what });
        ToolSpec {
            name: NAME.to_owned(),
            description: "Search the web; returns titles, URLs and excerpts. web_fetch reads a result."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "query": { "type": "string" },
                    "limit": { "type": "integer", "minimum": 1, "maximum": RESULTS_MAX, "description": format!("{RESULTS} by default") },
                    "allowed_domains": domains("Only results of these"),
                    "blocked_domains": domains("No results of these"),
                },
                "required": ["query"],
                "additionalProperties": false,
            }),
        }
    }

    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed(NAME)
    }

    fn effect(&self) -> Effect {
        Effect::Reads
    }

    fn parse(&self, arguments: Value) -> Result<Box<dyn AnyCall>, ToolError> {
        let invalid = |why: String| ToolError::message(format!("Invalid arguments for '{NAME}': {why}"));
        let arguments: Arguments =
            serde_json::from_value(arguments).map_err(|error| invalid(error.to_string()))?;
        let query = arguments.query.trim().to_owned();
        if query.is_empty() || query.chars().count() > QUERY_CHARS {
            return Err(invalid(format!("the query must have 1 to {QUERY_CHARS} characters")));
        }
        let domains = |names: &[String]| Domains::parse(names).map_err(invalid);
        Ok(Box::new(SearchCall {
            web: self.web.clone(),
            options: self.options.clone(),
            search: Search {
                query,
                limit: arguments.limit.unwrap_or(RESULTS).clamp(1, RESULTS_MAX),
                allowed_domains: domains(&arguments.allowed_domains)?,
                blocked_domains: domains(&arguments.blocked_domains)?,
            },
        }))
    }
}

struct SearchCall {
    web: Arc<Web>,
    options: Arc<CurrentOptions>,
    search: Search,
}

#[async_trait]
impl AnyCall for SearchCall {
    fn describe(&self, _cwd: &AbsPath) -> Description {
        Description {
            title: format!("Search the web for {}", agent::one_line(&self.search.query)),
            kind: ToolKind::Search,
            locations: Vec::new(),
        }
    }

    fn accesses(&self, _cwd: &AbsPath) -> Vec<Access> {
        vec![Access::Call { function: NAME.to_owned(), read_only: true }]
    }

    async fn prepare(&mut self, _cx: &ToolContext) -> Result<Vec<ToolContent>, ToolError> {
        Ok(Vec::new())
    }

    async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let options = (self.options)();
        let found = tokio::select! {
            biased;
            () = cx.cancel.cancelled() => return Err(ToolError::Cancelled(None)),
            found = self.web.search(&self.search, &options) => found,
        };
        let found = found.map_err(|error| ToolError::message(error.to_string()))?;
        if found.is_empty() {
            let text = format!("No results for {}.", agent::one_line(&self.search.query));
            return Ok(ToolOutput::text(text));
        }
        let head = format!("{} results for {}", found.len(), agent::one_line(&self.search.query));
        let text = agent::tools::within(cx, material("web pages", &head, &listing(&found))).await;
        let shown = ToolContent::Content(Content::text(fenced(&text)));
        Ok(ToolOutput::shown(text, vec![shown]))
    }
}

fn listing(found: &[SearchResult]) -> String {
    let entry = |(index, result): (usize, &SearchResult)| {
        format!("{}. {}\n{}\n{}\n", index + 1, result.title, result.url, result.snippet)
    };
    found.iter().enumerate().map(entry).collect::<Vec<_>>().join("\n")
}
