//! Waiting that ends when the turn does.

use crate::{ToolContext, ToolError};

/// The result of an effect, or [`ToolError::Cancelled`] as soon as the turn is cancelled. The effect's future is dropped then.
pub(super) async fn unless_cancelled<T>(
    cx: &ToolContext,
    effect: impl Future<Output = T>,
) -> Result<T, ToolError> {
    cx.cancel.run_until_cancelled(effect).await.ok_or(ToolError::Cancelled(None))
}
