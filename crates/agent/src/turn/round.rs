//! A round of a turn: one request to the model, its answer, and the answer's calls.

use super::{
    Turn,
    answer::{self, Answer},
    calls::{self, Calls},
    empty_answer::EmptyAnswer,
    hosted_search, loops,
    shorten::SummaryContext,
    stuck,
};
use crate::{
    Briefing, LanguageModel, Message, ModelRequest, ModelStop, Phase, SessionEvent, Severity, StopReason,
    ToolCallRequest, TurnError, history::measure,
};
use std::sync::Arc;

/// A request to a model, ready to be sent.
struct Request {
    model: Arc<dyn LanguageModel>,
    request: ModelRequest,
    /// Tokens of the system prompt and the tools.
    around: u64,
}

impl Turn<'_> {
    /// Calls the model once and runs the calls of its answer. Returns why the turn ends, if it
    /// does. `prompt` is the user's text, for the first round.
    pub(super) async fn round(&mut self, prompt: &str) -> Result<Option<StopReason>, TurnError> {
        if self.cancel.is_cancelled() {
            return Ok(Some(StopReason::Cancelled));
        }
        if self.controls.suspension().is_asked() {
            return Ok(Some(StopReason::Suspended));
        }
        if self.progress.requests > 0 {
            self.take_steering().await?;
            self.controls.follow_settings().await;
        }
        let limits = &self.session.settings().limits;
        let of_step = self.progress.requests - self.progress.goal.step;
        if of_step >= limits.turn_requests || self.progress.requests >= limits.run_requests {
            return Ok(Some(StopReason::MaxTurnRequests));
        }
        self.progress.requests += 1;
        let Some(Request { model, request, around }) = self.request(prompt).await? else {
            return Ok(Some(StopReason::Cancelled));
        };
        let offered = self.callable(model.info(), &request);
        let answer = answer::ask(self.session, model.as_ref(), request, self.cancel).await?;
        if answer.overflows() && !self.progress.overflowed && !self.cancel.is_cancelled() {
            self.progress.overflowed = true;
            let with = SummaryContext { model: model.as_ref(), around };
            let shorter = self.make_room_by_all_means(&with).await?;
            // If the user cancelled meanwhile, the turn ends as cancelled, not with the overflow
            // error.
            if shorter || self.cancel.is_cancelled() {
                return Ok(None);
            }
        }
        let cut_at = (answer.stop == Ok(ModelStop::MaxTokens)).then_some(answer.usage.output);
        let usage = self.answer_usage(model.as_ref(), answer.usage, around);
        let Answer { mut response, searches, stop, .. } = answer;
        let (candidates, announced) = calls::announce(self.session, &mut response, &offered, cut_at);
        let requested: Vec<_> = response.calls().cloned().collect();
        let says_nothing = response.text().trim().is_empty();
        let searches = hosted_search::events(&response.id, searches);
        let mut events = vec![SessionEvent::ModelResponse(response), SessionEvent::Usage(usage)];
        events.extend(searches);
        events.extend(announced);
        if requested.is_empty() {
            self.progress.last = events;
            return self.answered(model.as_ref(), stop?, says_nothing, cut_at).await;
        }
        self.run_calls(&model, candidates, &requested, events).await
    }

    /// Builds the next request; `None` if the turn was cancelled. Makes room for the answer, and
    /// stores the briefings that the request adds.
    async fn request(&mut self, prompt: &str) -> Result<Option<Request>, TurnError> {
        let is_first = self.progress.requests == 1;
        let step_begins = self.progress.requests == self.progress.goal.step + 1;
        let cancel = self.cancel;
        let notices = tokio::select! {
            biased;
            () = cancel.cancelled() => return Ok(None),
            notices = self.gather(step_begins) => notices,
        };
        self.notify_notices(notices).await?;
        let id = self.controls.state().model;
        let model = tokio::select! {
            biased;
            () = cancel.cancelled() => return Ok(None),
            model = self.session.model(&id) => model?,
        };
        self.brief(model.info(), &self.controls.state(), prompt).await;
        if is_first {
            self.read_ahead(model.info(), prompt, &self.controls.state()).await;
        }
        let mut request = self.frame(model.info(), &self.controls.state());
        request.answer_schema = self.session.settings().prompt.answer_schema.clone();
        let around = measure::around(&request);
        let messages = self.session.conversation().history().messages().len();
        self.make_room(&SummaryContext { model: model.as_ref(), around }).await?;
        if cancel.is_cancelled() {
            return Ok(None);
        }
        if self.session.conversation().history().messages().len() < messages {
            // The summarised part may have held the facts about the model's environment.
            self.brief(model.info(), &self.controls.state(), prompt).await;
        }
        if let Some(nudge) = self.progress.nudge.take() {
            self.session.store_also(vec![SessionEvent::Briefing(nudge)]);
        }
        request.messages = self.session.conversation().history().messages().to_vec();
        Ok(Some(Request { model, request, around }))
    }

    /// Ends the turn after an answer without calls, unless a steering message is waiting or the
    /// answer is empty.
    async fn answered(
        &mut self,
        model: &dyn LanguageModel,
        stop: ModelStop,
        says_nothing: bool,
        cut_at: Option<u64>,
    ) -> Result<Option<StopReason>, TurnError> {
        messages_taken().await;
        if self.cancel.is_cancelled() {
            return Ok(Some(StopReason::Cancelled));
        }
        if self.controls.steering().is_waiting() && stop == ModelStop::EndTurn {
            self.record_last().await?;
            return Ok(None);
        }
        if stop == ModelStop::EndTurn && !says_nothing && self.await_subagents().await? {
            return Ok(None);
        }
        if says_nothing && model.info().disclosure.is_none() {
            match self.empty_answer(stop, cut_at) {
                EmptyAnswer::AskAgain => {
                    self.record_last().await?;
                    return Ok(None);
                }
                EmptyAnswer::Fail(error) => return Err(error.into()),
                EmptyAnswer::Accept => {}
            }
        }
        Ok(Some(stop_reason(stop)))
    }

    /// Waits for a result of a subagent in the background, if there are any; returns whether the
    /// turn goes on. It ends without waiting further if another prompt waits: the subagents go on,
    /// and that prompt's turn receives their results.
    async fn await_subagents(&mut self) -> Result<bool, TurnError> {
        let Some(subagents) =
            self.session.subagents().filter(|subagents| subagents.has_unfinished()).cloned()
        else {
            return Ok(false);
        };
        self.record_last().await?;
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => {}
            () = self.controls.steering().arrives() => {}
            () = self.controls.suspension().asked() => {}
            () = self.controls.prompt_waits() => return Ok(false),
            () = subagents.result_ready() => {}
        }
        Ok(true)
    }

    /// Records the answer and runs its calls. Returns a reason if the turn was cancelled or the
    /// model repeats itself.
    async fn run_calls(
        &mut self,
        model: &Arc<dyn LanguageModel>,
        mut candidates: Vec<calls::Candidate>,
        requested: &[ToolCallRequest],
        events: Vec<SessionEvent>,
    ) -> Result<Option<StopReason>, TurnError> {
        let limit = self.session.settings().limits.identical_calls;
        let times = self.loops.times(requested.iter());
        let warning = loops::warning(times, limit);
        if let (Some(last), Some(warning)) = (candidates.last_mut(), &warning) {
            last.add_note(warning.clone());
        }
        calls::record_and_resolve(self.session, &mut candidates, events).await?;

        self.session.notify(SessionEvent::Phase(Phase::Tools));
        let calls = Calls::new(self.session, self.controls, model);
        let over = calls.run(candidates, self.cancel).await;
        let sampled = calls.sampled();
        let over = over?;
        self.record_sampled(model.as_ref(), sampled).await?;
        if over {
            return Ok(Some(StopReason::Cancelled));
        }
        if times >= limit {
            self.session.notify(SessionEvent::Notice {
                severity: Severity::Warning,
                title: format!("Stopped: the model repeated the same tool call {times} times"),
                description: Some(
                    "The model was informed. Say what it should do instead, or ask again.".to_owned(),
                ),
            });
            return Ok(Some(StopReason::MaxTurnRequests));
        }
        match self.stuck.as_mut().and_then(|stuck| stuck.after(requested.iter())) {
            Some(stuck::Stage::Warn(text)) => {
                self.progress.nudge = Some(Briefing { text: text.to_owned(), ..Briefing::default() });
            }
            Some(stuck::Stage::Stop) => return Ok(Some(StopReason::MaxTurnRequests)),
            None => {}
        }
        if let Some(Message::Assistant(answer)) = self.session.conversation().history().messages().last() {
            self.loops.ran(requested.iter(), answer.calls(), warning.as_deref());
        }
        self.session.notify(SessionEvent::Phase(Phase::Thinking));
        Ok(None)
    }

    /// Adds waiting steering messages to the conversation before the next request. Each is settled
    /// once it is recorded, or rejected if a hook denies it.
    async fn take_steering(&mut self) -> Result<(), TurnError> {
        messages_taken().await;
        while let Some(said) = self.controls.steering().next() {
            self.session.stored().await?;
            let (content, denial) = self.ask_hooks(said.content.clone()).await;
            if let Some(reason) = denial {
                said.settle(Err(TurnError::BadPrompt(reason.text)));
                continue;
            }
            let content = self.with_checked_images(content);
            let message = self.session.conversation().next_message();
            let event = SessionEvent::UserMessage { id: message.clone(), content };
            self.session.record(vec![event]).await?;
            said.inserted(message);
        }
        Ok(())
    }
}

/// Lets the session's task take the messages received by now, such as a cancel or steering. A yield
/// also runs the connection's tasks, which may be about to send one; a signal could not do that.
async fn messages_taken() {
    tokio::task::yield_now().await;
}

fn stop_reason(stop: ModelStop) -> StopReason {
    match stop {
        ModelStop::EndTurn | ModelStop::ToolCalls => StopReason::EndTurn,
        ModelStop::MaxTokens => StopReason::MaxTokens,
        ModelStop::Refusal => StopReason::Refusal,
    }
}
