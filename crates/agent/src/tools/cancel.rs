//! Waiting for effects with cancellation by the turn.

use crate::{ToolContext, ToolError};

/// Returns the result of an effect, or [`ToolError::Cancelled`] as soon as the turn is cancelled;
/// the effect's future is then dropped.
pub(super) async fn unless_cancelled<T>(
    cx: &ToolContext,
    effect: impl Future<Output = T>,
) -> Result<T, ToolError> {
    cx.cancel.run_until_cancelled(effect).await.ok_or(ToolError::Cancelled(None))
}
