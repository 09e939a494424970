//! The start of a turn: expands the prompt, records it, and decides whether the model is called.

use super::Turn;
use crate::{
    Briefing, Content, GoalError, HookEvent, MessageId, Phase, PromptId, SessionEvent, SessionState,
    Severity, StopReason, TurnError, TurnId,
    input::{
        attachments,
        commands::{self, Action, GoalCommand},
        mentions,
    },
    limits::{LOOK_WAIT, TITLE_CHARS},
    session::controls::Controls,
    sources::SourceNotice,
    text::sanitise::label,
};
use serde_json::json;
use tokio::sync::oneshot;
use tracing::Span;

/// The input of a turn.
pub(crate) struct TurnInput {
    pub(crate) content: Vec<Content>,
    /// The id that the client gave the prompt.
    pub(crate) id: Option<PromptId>,
    /// Receives the id of the prompt's message once that is recorded.
    pub(crate) recorded: oneshot::Sender<MessageId>,
    /// Whether it has no prompt, and goes on with the turn that was suspended.
    pub(crate) goes_on: bool,
    /// What the model is sent first when it goes on.
    pub(crate) note: Option<Briefing>,
    /// The span in which the prompt was sent.
    pub(crate) span: Span,
}

impl TurnInput {
    /// The input of a turn that goes on with one that another process suspended.
    pub(crate) fn going_on(note: Option<Briefing>) -> Self {
        let recorded = oneshot::channel().0;
        Self { content: Vec::new(), id: None, recorded, goes_on: true, note, span: Span::none() }
    }
}

/// The outcome of admitting a prompt.
pub(super) enum Admitted {
    /// The prompt goes to the model; holds its text.
    Asks(String),
    /// The prompt was a command, or a hook refused it: the turn ends without a request.
    Answered(StopReason),
}

impl Turn<'_> {
    /// Expands what a prompt refers to, runs the hooks, and starts to store it. A slash command is
    /// executed.
    pub(super) async fn admit(&mut self, turn: &TurnId, prompt: TurnInput) -> Result<Admitted, TurnError> {
        let TurnInput { content, id, recorded, goes_on, note, span: _ } = prompt;
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => {}
            () = self.session.toolbox().sources().refresh() => {}
        }
        if goes_on {
            return Ok(self.resume_suspended(turn, note, recorded));
        }
        if let Some(Action::Retry) = commands::of(&content)
            && let Some(unanswered) = self.session.conversation().unanswered()
        {
            let began = SessionEvent::TurnStarted { turn: turn.clone(), prompt: id };
            return self.retry(began, unanswered, recorded).await;
        }
        let content = {
            let state = self.controls.state();
            let attaching = self.attach_links(content.clone(), &state);
            let looked = tokio::select! {
                biased;
                () = self.cancel.cancelled() => None,
                looked = tokio::time::timeout(LOOK_WAIT, attaching) => looked.ok(),
            };
            // The prompt is kept even if what it refers to cannot be read.
            looked.unwrap_or(content)
        };
        let command = commands::of(&content);
        let asks_model = command.as_ref().is_none_or(Action::asks_model);
        let (content, denial) = match command {
            Some(_) if !asks_model => (content, None),
            Some(_) => self.ask_hooks(content).await,
            None => match self.expand_command(content, &self.controls.state()).await {
                (content, None) => self.ask_hooks(content).await,
                refused => refused,
            },
        };
        let is_for_model = asks_model && denial.is_none();
        let hint = if is_for_model { self.command_hint(&content) } else { None };
        let message = self.session.conversation().next_message();
        let began = SessionEvent::TurnStarted { turn: turn.clone(), prompt: id };
        let mut events = prompt_events(self.controls, began, &message, &content);
        if is_for_model {
            events.push(SessionEvent::Phase(Phase::Thinking));
        }
        self.session.begin_storing(events, move || {
            // Most clients ignore the id and only wait for the end.
            let _ = recorded.send(message);
        });
        if let Some(reason) = denial {
            self.session.stored().await?;
            return Ok(Admitted::Answered(self.answer_locally(reason)));
        }
        let refused = match command {
            Some(Action::Goal(GoalCommand::Change(change))) if asks_model => {
                self.session.stored().await?;
                self.start_goal(change).await.err()
            }
            Some(action) => {
                self.session.stored().await?;
                return Ok(Admitted::Answered(self.command(action).await?));
            }
            None => {
                self.resume_goal().await?;
                None
            }
        };
        match refused {
            None => {
                self.notify_notices(hint.into_iter().collect()).await?;
                Ok(Admitted::Asks(words(&content)))
            }
            Some(GoalError::Store(error)) => Err(error.into()),
            Some(error) => {
                Ok(Admitted::Answered(self.answer_locally(format!("Nothing was changed: {error}."))))
            }
        }
    }

    /// Returns a prompt with its links and mentions expanded.
    async fn attach_links(&self, content: Vec<Content>, state: &SessionState) -> Vec<Content> {
        let system = self.session.system().as_ref();
        let open = |path: &_, canonical: &_| self.session.gate().attaching(state, path, canonical);
        let content = attachments::expand(content, system, &open).await;
        for path in attachments::files(&content) {
            // Searches take this file's content from the editor, as far as the tools may read it.
            let canonical = system.resolve(&path).await;
            if canonical.is_ok_and(|canonical| open(&path, &canonical).is_some()) {
                self.session.files().named(&path);
            }
        }
        if self.session.toolbox().sources().is_empty() {
            return content;
        }
        let refused = |function: &str| self.session.gate().refuses(state, function);
        let (content, problems) =
            mentions::attach(content, self.session.toolbox().sources(), system, &open, &refused).await;
        for title in problems {
            self.session.notify(SessionEvent::Notice {
                severity: Severity::Warning,
                title,
                description: None,
            });
        }
        content
    }

    /// Adds to a prompt what the command that it begins with stands for: a built-in prompt, or a
    /// command of a source. Also returns the reason if that fails. A prompt that begins with `/`
    /// and is no command is left as it is.
    async fn expand_command(
        &self,
        mut content: Vec<Content>,
        state: &SessionState,
    ) -> (Vec<Content>, Option<String>) {
        let Some(Content::Text(text)) = content.first() else { return (content, None) };
        let Some((name, arguments)) = commands::named(text) else { return (content, None) };
        if let Some(prompt) = commands::prompt(name, arguments) {
            content.push(prompt);
            return (content, None);
        }
        let refused = |function: &str| self.session.gate().refuses(state, function);
        let expanded = tokio::select! {
            biased;
            () = self.cancel.cancelled() => None,
            expanded = self.session.toolbox().sources().expand_command(name, arguments, &refused) => expanded,
        };
        match expanded {
            None => (content, None),
            Some(Ok(more)) => {
                content.extend(more);
                (content, None)
            }
            Some(Err(why)) => (content, Some(why)),
        }
    }

    /// Returns a notice naming the closest command, if the prompt looks like a mistyped one.
    fn command_hint(&self, content: &[Content]) -> Option<SourceNotice> {
        let Some(Content::Text(text)) = content.first() else { return None };
        let (given, _) = commands::named(text)?;
        let meant = commands::nearest(given, &commands::all(self.session.toolbox().sources()))?;
        Some(SourceNotice {
            severity: Severity::Warning,
            title: format!("There is no command /{given}; did you mean /{meant}? The model was asked."),
            description: None,
        })
    }

    /// Runs the hooks on a prompt. Returns the prompt with their notes, and the reason if one
    /// denied it.
    pub(super) async fn ask_hooks(&self, mut content: Vec<Content>) -> (Vec<Content>, Option<String>) {
        let about = || json!({ "prompt": words(&content) });
        let hooks = self.session.reload_settings().await.hooks.clone();
        let said = hooks.run(HookEvent::Prompt, self.session.cwd(), None, about, self.cancel).await;
        content.extend(said.notes.into_iter().map(Content::text));
        (content, said.denial)
    }
}

/// Returns the events that begin a turn.
fn prompt_events(
    controls: &Controls,
    began: SessionEvent,
    message: &MessageId,
    content: &[Content],
) -> Vec<SessionEvent> {
    let mut events =
        vec![began, SessionEvent::UserMessage { id: message.clone(), content: content.to_vec() }];
    if controls.state().title.is_none()
        && let Some(title) = title(content)
    {
        events.push(SessionEvent::TitleChanged(title));
    }
    events
}

/// Joins the texts of a prompt.
fn words(content: &[Content]) -> String {
    let text = |item: &Content| match item {
        Content::Text(text) => Some(text.clone()),
        _ => None,
    };
    content.iter().filter_map(text).collect::<Vec<_>>().join("\n")
}

fn title(content: &[Content]) -> Option<String> {
    content.iter().find_map(|item| match item {
        Content::Text(text) => {
            text.lines().map(|line| label(line, TITLE_CHARS)).find(|line| !line.is_empty())
        }
        _ => None,
    })
}
