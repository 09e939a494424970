//! One turn, top to bottom: a prompt goes in, the model is asked, its calls are run, until it has no more to say.
//!
//! `run` is the frame: whatever happens, the end of the turn is recorded. Within it a prompt is admitted (`admit`), and
//! then rounds are run (`round`): a request is put together (`request`), the model is asked (`answer`), and the calls of
//! its answer are run (`calls`).

mod admit;
mod answer;
mod calls;
mod command;
mod gathered;
mod loops;
mod request;
mod round;
mod shorten;
mod silence;
mod text_calls;
mod usage;

pub(crate) use admit::Prompted;

use crate::{
    Content, HookEvent, Phase, PromptOutcome, SessionEvent, Severity, StopReason, StoreError, TurnEnd,
    TurnError, TurnId, Usage,
    prompt::Surroundings,
    session::{Session, controls::Controls},
    sources::SourceNotice,
};
use admit::Admitted;
use loops::Loops;
use serde_json::json;
use std::mem::take;
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
    let id = session.conversation().next_turn();
    let mut turn = Turn::new(session, controls, cancel);
    let end = turn.attempt(&id, prompt).await;
    let end = turn.session.stored().await.map_err(TurnError::from).and(end);
    let end = match end {
        Ok(stop) => turn.tell_stop(stop).await,
        failed => failed,
    };
    let recorded = match &end {
        // Nothing more can be stored, the end of the turn included.
        Err(TurnError::Store(error)) => Err(error.clone()),
        Ok(stop) => turn.record_end(id, TurnEnd::Stopped(*stop)).await,
        Err(error) => turn.record_end(id, TurnEnd::Failed(error.to_string())).await,
    };
    if let Err(error) = recorded {
        turn.session.tell(SessionEvent::Phase(Phase::Idle));
        return Err(error.into());
    }
    let Progress { usage, requests, .. } = turn.progress;
    end.map(|stop_reason| PromptOutcome {
        stop_reason,
        usage,
        total: turn.session.conversation().usage(),
        requests,
    })
}

/// A running turn: what it works on, and how far it has come.
struct Turn<'a> {
    session: &'a mut Session,
    controls: &'a Controls,
    cancel: &'a CancellationToken,
    progress: Progress,
    /// What lies around the session's folder, as it was when the turn began.
    surroundings: Surroundings,
    loops: Loops,
}

/// How far a turn has come.
#[derive(Default)]
struct Progress {
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

impl<'a> Turn<'a> {
    fn new(session: &'a mut Session, controls: &'a Controls, cancel: &'a CancellationToken) -> Self {
        Self {
            session,
            controls,
            cancel,
            progress: Progress::default(),
            surroundings: Surroundings::default(),
            loops: Loops::default(),
        }
    }
}

impl Turn<'_> {
    async fn attempt(&mut self, turn: &TurnId, prompt: Prompted) -> Result<StopReason, TurnError> {
        let prompt = match self.admit(turn, prompt).await? {
            Admitted::Asks(prompt) => prompt,
            Admitted::Answered(stop) => return Ok(stop),
        };
        loop {
            if let Some(stop) = self.round(&prompt).await? {
                return Ok(stop);
            }
        }
    }

    /// Tells hooks that the turn stops. They may take their time: the answer is stored before.
    async fn tell_stop(&mut self, stop: StopReason) -> Result<StopReason, TurnError> {
        if self.session.look_at_settings().await.hooks.hear(HookEvent::Stop) {
            self.record_last().await?;
            self.tell_hooks(stop).await;
        }
        Ok(stop)
    }

    /// Tells hooks that the turn is over; what they say is shown.
    async fn tell_hooks(&self, stop: StopReason) {
        let about = || json!({ "stop_reason": stop.id() });
        let hooks = self.session.settings().hooks.clone();
        let said = hooks.run(HookEvent::Stop, self.session.cwd(), None, about, self.cancel).await;
        for title in said.notes.into_iter().chain(said.denial) {
            self.session.tell(SessionEvent::Notice { severity: Severity::Info, title, description: None });
        }
    }

    /// Records what was kept to be stored together with the end of the turn.
    async fn record_last(&mut self) -> Result<(), StoreError> {
        let last = take(&mut self.progress.last);
        self.session.record(last).await
    }

    /// Records what is left to store, and the end.
    async fn record_end(&mut self, turn: TurnId, end: TurnEnd) -> Result<(), StoreError> {
        self.progress.last.extend([SessionEvent::Phase(Phase::Idle), SessionEvent::TurnEnded { turn, end }]);
        self.record_last().await
    }

    /// Tells what is new about sources of tools, as a part of the turn: after its beginning, which is told once it is stored.
    async fn tell_notices(&mut self, notices: Vec<SourceNotice>) -> Result<(), StoreError> {
        if !notices.is_empty() {
            self.session.stored().await?;
        }
        for SourceNotice { severity, title, description } in notices {
            self.session.tell(SessionEvent::Notice { severity, title, description });
        }
        Ok(())
    }
}
