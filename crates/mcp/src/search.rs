//! The tool that searches tools, used when there are too many of them to list all to the model.

use crate::{limits::SEARCH_RESULTS, locked::locked, tool_definition::ToolDefinition};
use agent::{
    Access, AnyCall, AnyTool, Description, Effect, ToolContent, ToolContext, ToolError, ToolKind, ToolOutput,
    ToolSpec,
};
use async_trait::async_trait;
use serde_json::{Value, json};
use std::{
    borrow::Cow,
    collections::HashSet,
    sync::{Arc, Mutex},
};
use system::AbsPath;

/// The tool's name.
const NAME: &str = "tool_search";

/// The first line of a result with matches; each following line is a tool.
const FOUND_HEADER: &str = "These can be called from now on:";

/// The names of tools that a search has found.
pub(crate) type FoundTools = Arc<Mutex<HashSet<String>>>;

/// Searches the servers' tools by words. Tools that it finds are offered from the next request on.
#[derive(Clone)]
pub(crate) struct ToolSearch {
    pub(crate) all: Arc<[Arc<ToolDefinition>]>,
    pub(crate) found_tools: FoundTools,
}

impl AnyTool for ToolSearch {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: NAME.to_owned(),
            description: format!(
                "Finds tools of MCP servers by words of their names and descriptions. {} tools are not listed here; what this finds can be called afterwards.",
                self.all.len()
            ),
            parameters: json!({
                "type": "object",
                "properties": { "query": { "type": "string", "description": "Words to look for" } },
                "required": ["query"],
            }),
        }
    }

    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed(NAME)
    }

    fn effect(&self) -> Effect {
        Effect::Session
    }

    fn parse(&self, arguments: Value) -> Result<Box<dyn AnyCall>, ToolError> {
        let Some(query) = arguments["query"].as_str() else {
            return Err(ToolError::message(format!("Invalid arguments for '{NAME}': `query` is missing")));
        };
        Ok(Box::new(Search { tool: self.clone(), query: query.to_owned() }))
    }
}

/// Returns the names of the tools that a search found, parsed from its result.
pub(crate) fn tools_in_result<'a>(tool: &str, result: &'a str) -> impl Iterator<Item = String> + 'a {
    let lines = result.strip_prefix(FOUND_HEADER).filter(|_| tool == NAME).unwrap_or_default().lines();
    lines.filter_map(|line| Some(line.strip_prefix("- ")?.split_once(':')?.0.to_owned()))
}

struct Search {
    tool: ToolSearch,
    query: String,
}

#[async_trait]
impl AnyCall for Search {
    fn describe(&self, _cwd: &AbsPath) -> Description {
        let query = agent::one_line(&self.query);
        Description { title: format!("Find tools: {query}"), kind: ToolKind::Search, locations: Vec::new() }
    }

    fn accesses(&self, _cwd: &AbsPath) -> Vec<Access> {
        vec![Access::Call { function: NAME.to_owned(), read_only: true }]
    }

    async fn prepare(&mut self, _cx: &ToolContext) -> Result<Vec<ToolContent>, ToolError> {
        Ok(Vec::new())
    }

    async fn run(&mut self, _cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let found = find(&self.tool.all, &self.query);
        if found.is_empty() {
            return Ok(ToolOutput::text("No tool fits. Try other or fewer words."));
        }
        locked(&self.tool.found_tools).extend(found.iter().map(|tool| tool.function.clone()));
        Ok(ToolOutput::text(format_found(&found)))
    }
}

/// Formats the found tools for the model.
fn format_found(found: &[&Arc<ToolDefinition>]) -> String {
    let mut text = format!("{FOUND_HEADER}\n");
    for tool in found {
        let first = tool.description.lines().next().unwrap_or_default();
        text.push_str(&format!("- {}: {}\n", tool.function, first.chars().take(200).collect::<String>()));
    }
    text
}

/// Returns the best matches. Words in names count more than words in descriptions.
fn find<'a>(all: &'a [Arc<ToolDefinition>], query: &str) -> Vec<&'a Arc<ToolDefinition>> {
    let words: Vec<_> = query
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let score = |tool: &ToolDefinition| -> usize {
        let (name, text) = (tool.function.to_lowercase(), tool.description.to_lowercase());
        let points = |word: &String| 3 * usize::from(name.contains(word)) + usize::from(text.contains(word));
        words.iter().map(points).sum()
    };
    let mut found: Vec<_> =
        all.iter().map(|tool| (score(tool), tool)).filter(|(score, _)| *score > 0).collect();
    found.sort_by(|(a, x), (b, y)| b.cmp(a).then_with(|| x.function.cmp(&y.function)));
    found.into_iter().take(SEARCH_RESULTS).map(|(_, tool)| tool).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool_definition::read_resource;

    #[test]
    fn found_tools_are_parsed_from_the_result() {
        let found = ["a", "b"].map(|server| Arc::new(read_resource(server)));
        let text = format_found(&found.iter().collect::<Vec<_>>());
        let again = |tool: &str, result: &str| tools_in_result(tool, result).collect::<Vec<_>>();
        assert_eq!(again(NAME, &text), found.map(|tool| tool.function.clone()));
        assert_eq!(again("bash", &text), [""; 0], "the result of another tool");
        assert_eq!(again(NAME, "No tool fits. Try other or fewer words."), [""; 0]);
    }
}
