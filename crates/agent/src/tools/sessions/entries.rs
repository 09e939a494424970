//! The events of a session as entries for a model that reads it.

use crate::{
    Content, SessionEvent, ToolCallUpdate, ToolStatus, TurnEnd, limits::PAST_ENTRY_CHARS, text::cut::cut,
};

/// Describes an event in words; `None` for one that says nothing about the conversation.
pub(super) fn entry(event: &SessionEvent) -> Option<String> {
    let text = match event {
        SessionEvent::UserMessage { content, .. } => {
            let parts: Vec<_> = content.iter().map(part).collect();
            format!("User: {}", parts.join("\n"))
        }
        SessionEvent::ModelResponse(response) => {
            let text = response.text();
            (!text.trim().is_empty()).then(|| format!("Assistant: {text}"))?
        }
        SessionEvent::ToolCall(update) => call(update)?,
        SessionEvent::TitleChanged(title) => format!("Title: {title}"),
        SessionEvent::TurnEnded { end: TurnEnd::Failed(why), .. } => format!("The turn failed: {why}"),
        _ => return None,
    };
    Some(cut(&text, PAST_ENTRY_CHARS).into_owned())
}

fn part(content: &Content) -> &str {
    match content {
        Content::Text(text) | Content::Resource { text, .. } => text,
        Content::ResourceLink { uri, .. } => uri,
        Content::Image { .. } => "(an image)",
    }
}

/// Describes a call by its result; the updates before the result are left out.
fn call(update: &ToolCallUpdate) -> Option<String> {
    let status = update.status.filter(|status| status.is_final())?;
    let state = match status {
        ToolStatus::Completed => "",
        ToolStatus::Failed => " failed",
        ToolStatus::Cancelled => " was cancelled",
        _ => " was interrupted",
    };
    let result = update.result.as_ref().map_or("", |result| result.text.as_str());
    Some(format!("Call of {}{state}: {}", update.name, result.trim_end()))
}
