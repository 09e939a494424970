//! Searches that a model's provider made by itself, shown to the user as calls that have ended.

use crate::{
    MessageId, SessionEvent, ToolCallDisplay, ToolCallId, ToolCallUpdate, ToolKind, ToolResult, ToolStatus,
    limits::SEARCHES_SHOWN, one_line,
};
use serde_json::json;

/// The name under which the searches are shown: that of the tool for searches.
const NAME: &str = "web_search";

/// The result of each, for clients. The model has what was found as a part of its answer.
const RESULT: &str = "The model's provider gave the results to the model.";

/// Returns the beginning and the end of a call for each search of an answer.
pub(super) fn events(answer: &MessageId, queries: Vec<String>) -> Vec<SessionEvent> {
    let event = |(index, query): (usize, String)| {
        let id = ToolCallId(format!("search_{answer}_{index}"));
        let display = ToolCallDisplay {
            title: Some(format!("Search the web for {}", one_line(&query))),
            kind: Some(ToolKind::Search),
            content: Some(Vec::new()),
            locations: None,
            raw_input: Some(json!({ "query": query })),
            place: None,
        };
        let begun = ToolCallUpdate::of(id.clone(), NAME).status(ToolStatus::Pending);
        let ended = ToolCallUpdate::of(id, NAME).status(ToolStatus::Completed);
        let result = Some(ToolResult::ok(RESULT));
        [ToolCallUpdate { display, ..begun }, ToolCallUpdate { result, ..ended }].map(SessionEvent::ToolCall)
    };
    queries.into_iter().take(SEARCHES_SHOWN).enumerate().flat_map(event).collect()
}
