//! One turn, top to bottom: a prompt goes in, the model is asked, its calls are run, until it has no more to say.

mod answer;
pub(crate) mod calls;
mod command;
mod gathered;
mod loops;
pub(crate) mod nested;
mod prompted;
mod request;
pub(crate) mod sampling;
mod text_calls;
mod usage;

pub(crate) use answer::{next, retrying};
use loops::Loops;
pub(crate) use prompted::Prompted;
use prompted::prompt_events;

use crate::{
    Briefing, Content, HookEvent, LanguageModel, Message, ModelError, ModelStop, Phase, PromptOutcome,
    SessionEvent, Severity, StopReason, StoreError, TurnEnd, TurnError, TurnId, Usage,
    history::compaction::Summing,
    history::measure,
    input::commands,
    limits::LOOK_WAIT,
    model::get_in_time,
    session::{Session, controls::Controls},
    sources::SourceNotice,
};
use serde_json::json;
use std::{mem::take, sync::Arc};
use tokio_util::sync::CancellationToken;

/// Runs a prompt's turn and records how it ended.
pub(crate) async fn run(
    session: &mut Session,
    controls: &Controls,
    prompt: Prompted,
    cancel: &CancellationToken,
) -> Result<PromptOutcome, TurnError> {
    if prompt.content.iter().all(|item| matches!(item, Content::Text(text) if text.trim().is_empty())) {
        return Err(TurnError::BadPrompt(
            "the prompt is empty; send text, an image or a resource".to_owned(),
        ));
    }
    let turn = session.conversation().next_turn();
    let mut course = Course::default();
    let end = attempt(session, controls, &turn, prompt, cancel, &mut course).await;
    let end = session.stored().await.map_err(TurnError::from).and(end);
    let end = match end {
        Ok(stop) => tell_stop(session, stop, &mut course, cancel).await,
        failed => failed,
    };
    let recorded = match &end {
        // Nothing more can be stored, the end of the turn included.
        Err(TurnError::Store(error)) => Err(error.clone()),
        Ok(stop) => session.log.record(course.ending(turn, TurnEnd::Stopped(*stop))).await,
        Err(error) => session.log.record(course.ending(turn, TurnEnd::Failed(error.to_string()))).await,
    };
    if let Err(error) = recorded {
        session.log.tell(SessionEvent::Phase(Phase::Idle));
        return Err(error.into());
    }
    let Course { usage, requests, .. } = course;
    end.map(|stop_reason| PromptOutcome {
        stop_reason,
        usage,
        total: session.conversation().usage(),
        requests,
    })
}

/// Tells hooks that the turn stops. They may take their time: the answer is stored before.
async fn tell_stop(
    session: &Session,
    stop: StopReason,
    course: &mut Course,
    cancel: &CancellationToken,
) -> Result<StopReason, TurnError> {
    if session.look_at_settings().await.hooks.hear(HookEvent::Stop) {
        session.log.record(take(&mut course.last)).await?;
        session.tell_hooks(stop, cancel).await;
    }
    Ok(stop)
}

/// What a model is told that answered without a word and without a call.
const NUDGE: &str =
    "Your last answer was empty. Go on with the task: call a tool, or answer the user in words.";

/// How far a turn has come.
#[derive(Default)]
struct Course {
    usage: Usage,
    requests: u32,
    /// Tokens in the model's context, as was told last; they do not become fewer unless something
    /// is left out.
    context: u64,
    /// The provider has said that the conversation is too long.
    overflowed: bool,
    /// The model has answered nothing in this turn, and was asked again.
    was_silent: bool,
    /// What the model is told with the next request.
    nudge: Option<&'static str>,
    /// What is stored together with the end of the turn: one flush to the disk for both.
    last: Vec<SessionEvent>,
}

impl Course {
    /// What is left to store, and the end.
    fn ending(&mut self, turn: TurnId, end: TurnEnd) -> Vec<SessionEvent> {
        let mut events = take(&mut self.last);
        events.extend([SessionEvent::Phase(Phase::Idle), SessionEvent::TurnEnded { turn, end }]);
        events
    }
}

async fn attempt(
    session: &mut Session,
    controls: &Controls,
    turn: &TurnId,
    prompt: Prompted,
    cancel: &CancellationToken,
    course: &mut Course,
) -> Result<StopReason, TurnError> {
    let state = || controls.state();
    let Prompted { content, recorded } = prompt;
    let content = {
        let state = state();
        let looking = session.look_at(content.clone(), &state);
        let looked = tokio::select! {
            biased;
            () = cancel.cancelled() => None,
            looked = tokio::time::timeout(LOOK_WAIT, looking) => looked.ok(),
        };
        // What was said is kept whatever becomes of what it names.
        looked.unwrap_or(content)
    };
    let command = commands::of(&content);
    let (content, denial) = match command {
        Some(_) => (content, None),
        None => match session.say_command(content, &state(), cancel).await {
            (content, None) => session.ask_hooks(content, cancel).await,
            refused => refused,
        },
    };
    let hint = if command.is_none() && denial.is_none() { session.command_hint(&content) } else { None };
    let message = session.conversation().next_message();
    let mut prompt = prompt_events(controls, turn, &message, &content);
    if command.is_none() && denial.is_none() {
        prompt.push(SessionEvent::Phase(Phase::Thinking));
    }
    session.begin_storing(prompt, message, recorded);
    if let Some(action) = command {
        session.stored().await?;
        return command::run(session, controls, action, course, cancel).await;
    }
    if let Some(reason) = denial {
        session.stored().await?;
        return Ok(command::say(session, reason, course));
    }

    session.tell_notices(hint.into_iter().collect()).await?;
    let prompt = prompted::words(&content);

    let mut loops = Loops::default();
    loop {
        if cancel.is_cancelled() {
            return Ok(StopReason::Cancelled);
        }
        if course.requests > 0 {
            take_steering(session, controls, cancel).await?;
        }
        if course.requests > 0 {
            controls.heed_settings().await;
        }
        if course.requests >= session.settings().limits.turn_requests {
            return Ok(StopReason::MaxTurnRequests);
        }
        course.requests += 1;

        let notices = tokio::select! {
            biased;
            () = cancel.cancelled() => return Ok(StopReason::Cancelled),
            notices = session.gather(course.requests == 1) => notices,
        };
        session.tell_notices(notices).await?;
        let model_id = state().model;
        let model = tokio::select! {
            biased;
            () = cancel.cancelled() => return Ok(StopReason::Cancelled),
            model = session.model(&model_id) => model?,
        };
        session.brief(model.info(), &state()).await;
        if course.requests == 1 {
            session.read_ahead(model.info(), &prompt, &state()).await;
        }
        let mut request = session.frame(model.info(), &state());
        let with = Summing { model: model.as_ref(), around: measure::around(&request), cancel };
        let messages = session.conversation().history().messages().len();
        session.make_room(&with, &mut course.usage).await?;
        if cancel.is_cancelled() {
            return Ok(StopReason::Cancelled);
        }
        if session.conversation().history().messages().len() < messages {
            // What was summed up may have said where the model works.
            session.brief(model.info(), &state()).await;
        }
        if let Some(text) = course.nudge.take() {
            let nudge = Briefing { text: text.into(), ..Briefing::default() };
            session.store_also(vec![SessionEvent::Briefing(nudge)]);
        }
        request.messages = session.conversation().history().messages().to_vec();
        let offered = session.callable(model.info(), &request);
        let answer = answer::ask(session, model.as_ref(), request, cancel).await?;
        if answer.overflows() && !course.overflowed && !cancel.is_cancelled() {
            course.overflowed = true;
            let shorter = session.make_room_by_all_means(&with, &mut course.usage).await?;
            // Whoever cancels meanwhile is told that, and not of an answer that was none.
            if shorter || cancel.is_cancelled() {
                continue;
            }
        }
        let cut_at = (answer.stop == Ok(ModelStop::MaxTokens)).then_some(answer.usage.output);
        let usage = session.answer_usage(model.as_ref(), answer.usage, with.around, course);
        let mut response = answer.response;
        let (mut candidates, announced) = calls::announce(session, &mut response, &offered, cut_at);
        let requested: Vec<_> = response.calls().cloned().collect();
        let says_nothing = response.text().trim().is_empty();
        let mut events = vec![SessionEvent::ModelResponse(response), SessionEvent::Usage(usage)];
        events.extend(announced);
        if requested.is_empty() {
            course.last = events;
            let stop = answer.stop?;
            tokio::task::yield_now().await;
            if cancel.is_cancelled() {
                return Ok(StopReason::Cancelled);
            }
            if controls.steering.is_waiting() && stop == ModelStop::EndTurn {
                session.log.record(take(&mut course.last)).await?;
                continue;
            }
            if says_nothing && model.info().disclosure.is_none() {
                match silence(session, stop, cut_at, course) {
                    Silence::AskAgain => {
                        session.log.record(take(&mut course.last)).await?;
                        continue;
                    }
                    Silence::Fail(error) => return Err(error.into()),
                    Silence::Accept => {}
                }
            }
            return Ok(stop_reason(stop));
        }
        let limit = session.settings().limits.identical_calls;
        let times = loops.times(requested.iter());
        let told = loops::warning(times, limit);
        if let (Some(last), Some(told)) = (candidates.last_mut(), &told) {
            last.add_note(told.clone());
        }
        calls::record_and_look(session, &mut candidates, events).await?;

        session.log.tell(SessionEvent::Phase(Phase::Tools));
        let over = calls::run(session, controls, candidates, cancel).await;
        let sampled = session.take_sampled();
        let over = over?;
        session.record_sampled(model.as_ref(), sampled, course).await?;
        if over {
            return Ok(StopReason::Cancelled);
        }
        if times >= limit {
            session.log.tell(SessionEvent::Notice {
                severity: Severity::Warning,
                title: format!("Stopped: the model repeated the same tool call {times} times"),
                description: Some(
                    "The model was told. Say what it should do instead, or ask again.".to_owned(),
                ),
            });
            return Ok(StopReason::MaxTurnRequests);
        }
        if let Some(Message::Assistant(answer)) = session.conversation().history().messages().last() {
            loops.ran(requested.iter(), answer.calls(), told.as_deref());
        }
        session.log.tell(SessionEvent::Phase(Phase::Thinking));
    }
}

/// What the user has said to the running turn becomes part of the conversation before the model is asked again. Said is what is recorded: each
/// is settled then.
async fn take_steering(
    session: &mut Session,
    controls: &Controls,
    cancel: &CancellationToken,
) -> Result<(), TurnError> {
    // The task that owns this turn hears what has come in by now.
    tokio::task::yield_now().await;
    while let Some(said) = controls.steering.next() {
        session.stored().await?;
        let (content, denial) = session.ask_hooks(said.content.clone(), cancel).await;
        if let Some(reason) = denial {
            said.settle(Err(TurnError::BadPrompt(reason)));
            continue;
        }
        let message = session.conversation().next_message();
        let event = SessionEvent::UserMessage { id: message.clone(), content };
        session.log.record(vec![event]).await?;
        said.inserted(message);
    }
    Ok(())
}

fn stop_reason(stop: ModelStop) -> StopReason {
    match stop {
        ModelStop::EndTurn | ModelStop::ToolCalls => StopReason::EndTurn,
        ModelStop::MaxTokens => StopReason::MaxTokens,
        ModelStop::Refusal => StopReason::Refusal,
    }
}

/// What is done about an answer without a word and without a call.
enum Silence {
    /// The model is asked once more, and told why.
    AskAgain,
    /// It said nothing a second time.
    Fail(ModelError),
    /// It ended for a reason that the user is told.
    Accept,
}

fn silence(session: &Session, stop: ModelStop, cut_at: Option<u64>, course: &mut Course) -> Silence {
    match stop {
        ModelStop::Refusal => Silence::Accept,
        ModelStop::MaxTokens => {
            session.log.tell(SessionEvent::Notice {
                severity: Severity::Warning,
                title: "The model said nothing before the limit of its answer".to_owned(),
                description: Some(format!(
                    "All of its {} tokens went into reasoning. Ask for less at a time, or choose less reasoning.",
                    cut_at.unwrap_or_default()
                )),
            });
            Silence::Accept
        }
        ModelStop::EndTurn | ModelStop::ToolCalls if std::mem::replace(&mut course.was_silent, true) => {
            Silence::Fail(ModelError::BadResponse(
                "the model answered nothing, twice; ask again in other words, or choose another model"
                    .to_owned(),
            ))
        }
        ModelStop::EndTurn | ModelStop::ToolCalls => {
            course.nudge = Some(NUDGE);
            Silence::AskAgain
        }
    }
}

impl Session {
    /// Tells hooks that the turn is over; what they say is shown.
    async fn tell_hooks(&self, stop: StopReason, cancel: &CancellationToken) {
        let about = || json!({ "stop_reason": stop.id() });
        let hooks = self.settings().hooks.clone();
        let said = hooks.run(HookEvent::Stop, &self.cwd, None, about, cancel).await;
        for title in said.notes.into_iter().chain(said.denial) {
            self.log.tell(SessionEvent::Notice { severity: Severity::Info, title, description: None });
        }
    }

    /// Tells what is new about sources of tools, as a part of the turn: after its beginning, which is told once it is stored.
    async fn tell_notices(&mut self, notices: Vec<SourceNotice>) -> Result<(), StoreError> {
        if !notices.is_empty() {
            self.stored().await?;
        }
        for SourceNotice { severity, title, description } in notices {
            self.log.tell(SessionEvent::Notice { severity, title, description });
        }
        Ok(())
    }

    /// The model with an id, kept between rounds.
    pub(crate) async fn model(&mut self, id: &str) -> Result<Arc<dyn LanguageModel>, ModelError> {
        if let Some((held, model)) = &self.current_model
            && held == id
        {
            return Ok(model.clone());
        }
        let model = get_in_time(self.models.as_ref(), id).await?;
        self.current_model = Some((id.to_owned(), model.clone()));
        Ok(model)
    }
}
