//! Calls whose end could not be stored.

use agent::{Content, ToolCallId, ToolCallUpdate, ToolContent, ToolStatus};

/// Returns the ends of calls that are open although their turn is over: their end could not be
/// stored. Once it is, as an interruption, the client gets that.
pub(crate) fn unstored_ends<'a>(open: impl Iterator<Item = &'a ToolCallId>) -> Vec<ToolCallUpdate> {
    let mut open: Vec<_> = open.cloned().collect();
    open.sort();
    let end = |id| {
        let text = "The end of this call could not be stored. It may have had an effect.";
        let content = vec![ToolContent::Content(Content::text(text))];
        ToolCallUpdate::of(id, "").status(ToolStatus::Interrupted).content(content)
    };
    open.into_iter().map(end).collect()
}
