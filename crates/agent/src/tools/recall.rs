//! What the tools for memories and those for earlier sessions share.

use crate::{MemoryError, Recall, ToolContext, ToolError, limits::TASK_TITLE_CHARS, text::cut};

impl From<MemoryError> for ToolError {
    fn from(error: MemoryError) -> Self {
        match error {
            MemoryError::NotFound(_) => {
                Self::message(format!("{error} Use memory_search to see the numbers."))
            }
            _ => Self::message(error.to_string()),
        }
    }
}

/// Returns what the session can recall.
///
/// # Errors
///
/// Fails for a call outside a session.
pub(super) fn recall<'a>(cx: &'a ToolContext, tool: &str) -> Result<&'a Recall, ToolError> {
    let recall = cx.session.recall.as_ref();
    recall.ok_or_else(|| ToolError::message(format!("Tool '{tool}' works only in a session.")))
}

/// Cuts a call's title.
pub(super) fn title(text: &str) -> String {
    cut::cut(&crate::one_line(text), TASK_TITLE_CHARS).into_owned()
}
