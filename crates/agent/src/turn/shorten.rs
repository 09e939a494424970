//! Makes room for the next request: drops old results, summarises the conversation, or drops its
//! beginning.

use super::{
    Turn,
    answer::{next, retrying},
};
use crate::{
    Compaction, CompactionId, CompactionStep, LanguageModel, ModelError, ModelEvent, ModelRequest, ModelStop,
    SessionEvent, Severity, StoreError, TurnError, Usage,
    event::item::Paragraphs,
    history::{
        compaction::{budget::ContextBudget, prune, split::split, summary},
        conversation::Conversation,
    },
    limits::{COMPACTION_FAILURES, COMPACTION_LEAST_TOKENS},
    model::bounded,
};

/// The outcome of an attempt to summarise a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SummaryOutcome {
    /// The conversation is shorter; estimated tokens before and after.
    Shorter { before: u64, after: u64 },
    /// There is too little to summarise.
    Nothing,
    /// The model failed; holds the reason.
    Failed(String),
    /// The turn was cancelled.
    Cancelled,
}

/// What is needed to make a summary.
pub(super) struct SummaryContext<'a> {
    pub(super) model: &'a dyn LanguageModel,
    /// Tokens of the system prompt and the tools.
    pub(super) around: u64,
}

impl Turn<'_> {
    /// Ensures that the next request leaves room for its answer. Model usage counts towards the
    /// turn.
    pub(super) async fn make_room(&mut self, with: &SummaryContext<'_>) -> Result<(), TurnError> {
        let limits = self.session.settings().limits.context.clone();
        let Some(room) = ContextBudget::of(with.model.info(), &limits) else { return Ok(()) };
        let mark = if limits.auto_compact { room.compact_at } else { room.warn_at };
        if self.session.conversation().used(with.around) < mark {
            self.session.warns(false);
            return Ok(());
        }
        self.session.stored().await?;
        self.leave_results_out(limits.prune_min_savings).await?;
        if self.session.conversation().used(with.around) < mark {
            return Ok(());
        }
        if !limits.auto_compact {
            return self.warn(room, with.around);
        }
        if self.session.conversation().failures() < COMPACTION_FAILURES {
            self.sum_up(with, room, None).await?;
        }
        if self.session.conversation().used(with.around) >= room.block_at && !self.cancel.is_cancelled() {
            self.leave_beginning_out(with, room.compact_at.saturating_sub(with.around)).await?;
        }
        Ok(())
    }

    /// Shortens the conversation after the provider rejected it as too long, whatever context size
    /// was assumed. Returns false if nothing can be removed.
    pub(super) async fn make_room_by_all_means(
        &mut self,
        with: &SummaryContext<'_>,
    ) -> Result<bool, TurnError> {
        self.session.stored().await?;
        let used = self.session.conversation().used(with.around);
        let room = ContextBudget::below(used, &self.session.settings().limits.context);
        self.leave_results_out(1).await?;
        let mut shorter = self.session.conversation().used(with.around) < room.block_at;
        if !shorter {
            shorter = matches!(self.sum_up(with, room, None).await?, SummaryOutcome::Shorter { .. });
        }
        if !shorter && !self.cancel.is_cancelled() {
            shorter = self.leave_beginning_out(with, room.block_at.saturating_sub(with.around)).await?;
        }
        Ok(shorter)
    }

    /// Summarises all but the last turns, and stores the summary. `focus` is what the user wants to
    /// be kept above all.
    pub(super) async fn sum_up(
        &mut self,
        with: &SummaryContext<'_>,
        room: ContextBudget,
        focus: Option<&str>,
    ) -> Result<SummaryOutcome, StoreError> {
        let conversation = self.session.conversation();
        let history = conversation.history();
        // A summary must save more than it costs.
        let least = room.summary().max(COMPACTION_LEAST_TOKENS);
        let first = split(history, room.tail(with.around), least).filter(|_| can_sum_up(with.model));
        let Some(first) = first else { return Ok(SummaryOutcome::Nothing) };
        let before = conversation.used(with.around);
        let request = summary::request(&history.messages_before(first), room, focus, with.model.info());
        let asked = history.last_prompt_before(first);
        let kept = history.messages().len() - first;
        let id = conversation.next_compaction();
        drop(conversation);
        self.session.notify(step(&id, CompactionStep::Started));
        let (written, cost) = self.write_summary(with, request, &id).await;
        self.progress.usage += cost;
        let (step, summed) = match written {
            Written::Whole(text) => {
                let summary = summary::continued(&text, asked.as_ref());
                let after = self.shorten(&id, summary, kept, with, cost).await?;
                self.keep_summary(&text).await;
                return Ok(SummaryOutcome::Shorter { before, after });
            }
            Written::Failed(why) => (CompactionStep::Failed(why.clone()), SummaryOutcome::Failed(why)),
            Written::Cancelled => (CompactionStep::Cancelled, SummaryOutcome::Cancelled),
        };
        let mut events = vec![self::step(&id, step)];
        if cost != Usage::default() {
            let used = self.session.conversation().context_used();
            events.push(SessionEvent::Usage(self.usage_update(with.model, used, cost)));
        }
        self.session.record(events).await?;
        Ok(summed)
    }

    /// Keeps a summary as a memory for later sessions. A failure is no reason to end the turn.
    async fn keep_summary(&self, summary: &str) {
        let Some(memories) = self.session.recall().memories else { return };
        let title = self.controls.state().title.unwrap_or_default();
        if let Err(error) = memories.keep_summary(summary, &title).await {
            tracing::warn!(session = %self.session.id(), %error, "the summary was not kept as a memory");
        }
    }

    /// Stores the replacement for the beginning of the conversation, and the context size after it.
    /// `cost` is the usage of the summary.
    async fn shorten(
        &mut self,
        id: &CompactionId,
        summary: String,
        kept: usize,
        with: &SummaryContext<'_>,
        cost: Usage,
    ) -> Result<u64, StoreError> {
        let completed = step(id, CompactionStep::Completed { summary, kept: kept as u64 });
        let mut shorter = Conversation::clone(&self.session.conversation());
        shorter.apply(&completed);
        let after = shorter.used(with.around);
        let usage = self.usage_update(with.model, after, cost);
        self.session.record(vec![completed, SessionEvent::Usage(usage)]).await?;
        Ok(after)
    }

    /// Drops the beginning of the conversation so that about `tokens` remain. Returns false if
    /// there is nothing before the last prompt.
    async fn leave_beginning_out(
        &mut self,
        with: &SummaryContext<'_>,
        tokens: u64,
    ) -> Result<bool, StoreError> {
        let conversation = self.session.conversation();
        let history = conversation.history();
        let Some(first) = split(history, tokens, COMPACTION_LEAST_TOKENS) else { return Ok(false) };
        let mut text = summary::LEFT_OUT.to_owned();
        if let Some(prompt) = history.last_prompt_before(first) {
            text = summary::continued(&text, Some(&prompt));
        }
        let kept = history.messages().len() - first;
        let id = conversation.next_compaction();
        drop(conversation);
        self.shorten(&id, text, kept, with, Usage::default()).await?;
        self.session.notify(SessionEvent::Notice {
            severity: Severity::Warning,
            title: "The beginning of the conversation is no longer sent to the model: it does not fit"
                .to_owned(),
            description: Some(
                "It could not be summarised. It is still stored and shown; a new session starts afresh."
                    .to_owned(),
            ),
        });
        Ok(true)
    }

    async fn leave_results_out(&self, least: u64) -> Result<(), StoreError> {
        let limits = self.session.settings().limits.context.clone();
        let Some(pruned) = prune::prune(self.session.conversation().history(), &limits, least) else {
            return Ok(());
        };
        let prune::Pruned { results, tokens, left_out } = pruned;
        self.session.record(left_out.into_iter().map(SessionEvent::ResultsLeftOut).collect()).await?;
        self.session.notify(SessionEvent::Notice {
            severity: Severity::Info,
            title: format!(
                "Left old results out of the requests to the model: {results}, about {tokens} tokens"
            ),
            description: None,
        });
        Ok(())
    }

    /// Warns the user once that the limit is near; fails once it is reached, so that nothing is
    /// sent.
    fn warn(&mut self, room: ContextBudget, around: u64) -> Result<(), TurnError> {
        let (used, size) = (self.session.conversation().used(around), room.window);
        if used >= room.block_at {
            return Err(TurnError::Model(ModelError::ContextOverflow(format!(
                "the conversation takes about {used} of the model's {size} tokens, which leaves no room for an answer; use /compact, or start a \
                 new session"
            ))));
        }
        if self.session.warns(true) {
            self.session.notify(SessionEvent::Notice {
                severity: Severity::Warning,
                title: format!("The conversation takes about {used} of the model's {size} tokens"),
                description: Some("Use /compact to summarise it.".to_owned()),
            });
        }
        Ok(())
    }

    /// Has the model write a summary; returns it with the usage.
    async fn write_summary(
        &self,
        with: &SummaryContext<'_>,
        request: ModelRequest,
        id: &CompactionId,
    ) -> (Written, Usage) {
        let mut stream = bounded::ask(with.model, request);
        let (mut text, mut emitted, mut usage) = (String::new(), 0, Usage::default());
        let mut paragraphs = Paragraphs::default();
        let written = loop {
            let event = next(&mut stream, self.cancel).await;
            if self.cancel.is_cancelled() {
                break Written::Cancelled;
            }
            match event {
                None => break Written::Failed("the model's answer ended without an end marker".to_owned()),
                Some(Err(error)) => break Written::Failed(error.to_string()),
                Some(Ok(ModelEvent::Stop(ModelStop::Refusal))) => {
                    break Written::Failed("the model refused to summarise".to_owned());
                }
                Some(Ok(ModelEvent::Stop(_))) if text.trim().is_empty() => {
                    break Written::Failed("the model wrote no summary".to_owned());
                }
                // A truncated summary is better than none.
                Some(Ok(ModelEvent::Stop(_))) => break Written::Whole(text),
                Some(Ok(ModelEvent::TextDone(_))) => paragraphs.end(),
                Some(Ok(ModelEvent::Text(more))) => {
                    text.push_str(paragraphs.push(&more));
                    text.push_str(&more);
                    // Emits whole lines: a summary needs no word-by-word streaming.
                    if let Some(end) = text.rfind('\n').filter(|end| *end >= emitted) {
                        self.session.notify(step(id, CompactionStep::Text(text[emitted..=end].to_owned())));
                        emitted = end + 1;
                    }
                }
                Some(Ok(ModelEvent::Usage(now))) => usage = now,
                Some(Ok(ModelEvent::Retrying { attempt, after, reason, .. })) => {
                    self.session.notify(retrying(attempt, after, reason));
                }
                // The request has no tools, and the reasoning is not shown.
                Some(Ok(
                    ModelEvent::ToolCall(_)
                    | ModelEvent::Reasoning(_)
                    | ModelEvent::ReasoningDone(_)
                    | ModelEvent::Other(_)
                    | ModelEvent::HostedSearch(_)
                    | ModelEvent::Notice(_)
                    | ModelEvent::Alive,
                )) => {}
            }
        };
        (written, usage)
    }
}

/// A summary, as far as it was received.
enum Written {
    Whole(String),
    Failed(String),
    Cancelled,
}

fn step(id: &CompactionId, step: CompactionStep) -> SessionEvent {
    SessionEvent::Compaction(Compaction { id: id.clone(), step })
}

/// Whether the model can summarise; a stand-in for a language model cannot.
pub(super) fn can_sum_up(model: &dyn LanguageModel) -> bool {
    model.info().disclosure.is_none()
}
