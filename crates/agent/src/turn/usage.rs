//! What a turn uses of its model, as it is recorded.

use super::Turn;
use crate::{LanguageModel, SessionEvent, StoreError, Usage, UsageUpdate};

impl Turn<'_> {
    /// What an answer took, and how full the model's context is after it.
    pub(super) fn answer_usage(
        &mut self,
        model: &dyn LanguageModel,
        last: Usage,
        around: u64,
    ) -> UsageUpdate {
        let conversation = self.session.conversation();
        // An answer that ended before anything was counted is estimated.
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

    /// Records what servers used of the model in a round of calls, if anything.
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

    /// The tokens of the session so far, with what was just used of them; `context` are in the
    /// model's context.
    pub(super) fn usage_update(&self, model: &dyn LanguageModel, context: u64, used: Usage) -> UsageUpdate {
        let mut total = self.session.conversation().usage();
        total += used;
        UsageUpdate {
            model: model.info().id.clone(),
            context_used: context,
            context_size: model.info().context_size,
            total,
            turn: self.progress.usage,
            counted: None,
        }
    }
}
