//! What a turn uses of its model, as it is recorded.

use super::Course;
use crate::{LanguageModel, SessionEvent, StoreError, Usage, UsageUpdate, session::Session};

impl Session {
    /// What an answer took, and how full the model's context is after it.
    pub(super) fn answer_usage(
        &self,
        model: &dyn LanguageModel,
        last: Usage,
        around: u64,
        course: &mut Course,
    ) -> UsageUpdate {
        let conversation = self.conversation();
        // An answer that ended before anything was counted is estimated.
        let counted = (last.input > 0).then_some(last.input);
        let context = match counted {
            None => conversation.used(around).max(conversation.context_used()),
            Some(counted) => counted + last.output,
        };
        let shrunk = conversation.is_uncounted();
        course.context = if shrunk { context } else { course.context.max(context) };
        course.usage += last;
        UsageUpdate { counted, ..self.usage_update(model, course.context, last, course.usage) }
    }

    /// Records what servers used of the model in a round of calls, if anything.
    pub(super) async fn record_sampled(
        &self,
        model: &dyn LanguageModel,
        sampled: Usage,
        course: &mut Course,
    ) -> Result<(), StoreError> {
        if sampled == Usage::default() {
            return Ok(());
        }
        course.usage += sampled;
        let usage = self.usage_update(model, course.context, sampled, course.usage);
        self.log.record(vec![SessionEvent::Usage(usage)]).await
    }

    /// The tokens of the session so far, with what was just used of them; `context` are in the
    /// model's context.
    pub(crate) fn usage_update(
        &self,
        model: &dyn LanguageModel,
        context: u64,
        used: Usage,
        turn: Usage,
    ) -> UsageUpdate {
        let mut total = self.conversation().usage();
        total += used;
        UsageUpdate {
            model: model.info().id.clone(),
            context_used: context,
            context_size: model.info().context_size,
            total,
            turn,
            counted: None,
        }
    }
}
