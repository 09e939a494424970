//! Token usage of a turn, as recorded.

use super::Turn;
use crate::{LanguageModel, SessionEvent, StoreError, Usage, UsageUpdate};

impl Turn<'_> {
    /// Returns the usage of an answer, and how full the model's context is after it.
    pub(super) fn answer_usage(
        &mut self,
        model: &dyn LanguageModel,
        last: Usage,
        around: u64,
    ) -> UsageUpdate {
        let conversation = self.session.conversation();
        // The usage of an answer that ended before the provider counted is estimated.
        let counted = (last.input > 0).then_some(last.input);
        let context = match counted {
            None => conversation.used(around).max(conversation.context_used()),
            Some(counted) => counted + last.output,
        };
        let shrunk = conversation.is_uncounted();
        self.progress.context = if shrunk { context } else { self.progress.context.max(context) };
        self.progress.usage += last;
        UsageUpdate { counted, ..self.usage_update(model, self.progress.context, last) }
    }

    /// Records the tokens used by MCP sampling in a round of calls, if any.
    pub(super) async fn record_sampled(
        &mut self,
        model: &dyn LanguageModel,
        sampled: Usage,
    ) -> Result<(), StoreError> {
        if sampled == Usage::default() {
            return Ok(());
        }
        self.progress.usage += sampled;
        let usage = self.usage_update(model, self.progress.context, sampled);
        self.session.record(vec![SessionEvent::Usage(usage)]).await
    }

    /// Returns the session's total usage including `used`; `context` is the size of the model's
    /// context in tokens.
    pub(super) fn usage_update(&self, model: &dyn LanguageModel, context: u64, used: Usage) -> UsageUpdate {
        let mut total = self.session.conversation().usage();
        total += used;
        UsageUpdate {
            model: model.info().id.clone(),
            context_used: context,
            context_size: model.info().limits.context_size,
            total,
            subagents: self.session.conversation().subagent_usage(),
            turn: self.progress.usage,
            counted: None,
        }
    }
}
