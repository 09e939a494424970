//! The start of a turn: expands the prompt, records it, and decides whether the model is called.

use super::Turn;
use crate::{
    Briefing, Content, GoalChange, GoalError, HookEvent, MessageId, Phase, PromptId, SessionEvent,
    SessionState, Severity, StopReason, TurnError, TurnId,
    input::{
        attachments,
        commands::{self, Action, GoalCommand, Named},
        images::check_prompt,
        mentions,
    },
    limits::{LOOK_WAIT, TITLE_CHARS},
    session::outcome::Reply,
    text::sanitise::label,
};
use serde_json::json;
use tokio::sync::oneshot;
use tracing::Span;

/// The URI of what a hook adds to a prompt.
const HOOK_NOTE: &str = "tiller:/hook";

/// The input of a turn.
pub(crate) struct TurnInput {
    pub(crate) content: Vec<Content>,
    /// Whether a person typed it as a command line of their own.
    pub(crate) is_typed: bool,
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
        Self {
            content: Vec::new(),
            is_typed: false,
            id: None,
            recorded,
            goes_on: true,
            note,
            span: Span::none(),
        }
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
        let TurnInput { content, is_typed, id, recorded, goes_on, note, span: _ } = prompt;
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => {}
            () = self.session.toolbox().sources().refresh() => {}
        }
        if goes_on {
            return Ok(self.resume_suspended(turn, note, recorded));
        }
        // Another model writes the prompts of subagents. Commands are the user's.
        let command = if self.session.is_subagent() { None } else { commands::of(&content) };
        if command == Some(Action::Retry)
            && let Some(unanswered) = self.session.conversation().unanswered()
        {
            let began = SessionEvent::TurnStarted { turn: turn.clone(), prompt: id };
            return self.retry(began, unanswered, recorded).await;
        }
        let asks_model = command.as_ref().is_none_or(Action::asks_model);
        let content = if asks_model { self.attached(content).await } else { content };
        let (content, refusal) = match command {
            Some(_) if !asks_model => (content, None),
            Some(_) => self.ask_hooks(content).await,
            None => match self.expand_command(content, &self.controls.state()).await {
                (content, None) => self.ask_hooks(content).await,
                refused => refused,
            },
        };
        let content = self.with_checked_images(content);
        let is_for_model = asks_model && refusal.is_none();
        let message = self.session.conversation().next_message();
        let began = SessionEvent::TurnStarted { turn: turn.clone(), prompt: id };
        let user = SessionEvent::UserMessage { id: message.clone(), content: content.clone() };
        let mut events = vec![began, user];
        let is_titled = self.controls.state().title.is_some();
        if is_for_model
            && !is_titled
            && let Some(title) = title(command.as_ref(), &content)
        {
            events.push(SessionEvent::TitleChanged(title));
        }
        if is_for_model {
            events.push(SessionEvent::Phase(Phase::Thinking));
        }
        self.session.begin_storing(events, self.cancel, move || {
            // Most clients ignore the id and only wait for the end.
            let _ = recorded.send(message);
        });
        if let Some(refusal) = refusal {
            self.session.stored().await?;
            return Ok(Admitted::Answered(self.answer_locally(refusal)));
        }
        let refusal = match command {
            Some(action) if asks_model => {
                self.session.stored().await?;
                self.prepare(action).await?
            }
            Some(action) => {
                self.session.stored().await?;
                return Ok(Admitted::Answered(self.command(action, is_typed).await?));
            }
            None => {
                self.resume_goal().await?;
                None
            }
        };
        Ok(match refusal {
            None => Admitted::Asks(words(&commands::for_model(&content))),
            Some(refusal) => Admitted::Answered(self.answer_locally(refusal)),
        })
    }

    /// Carries out a command before the rest of its prompt goes to the model. Returns the answer if
    /// that is not possible.
    async fn prepare(&mut self, action: Action) -> Result<Option<Reply>, TurnError> {
        match action {
            Action::Goal(GoalCommand::Change(change)) => {
                return match self.start_goal(change).await {
                    Ok(()) => Ok(None),
                    Err(GoalError::Store(error)) => Err(error.into()),
                    Err(error) => Ok(Some(Reply::refused(format!("Nothing was changed: {error}.")))),
                };
            }
            Action::Mode(mode, _) => self.controls.set_mode(mode).await?,
            Action::PermissionMode(mode, _) => self.controls.set_permission_mode(mode).await?,
            _ => {}
        }
        self.resume_goal().await?;
        Ok(None)
    }

    /// Returns a prompt in which images that no model accepts are replaced by text, and tells the
    /// user of each.
    pub(super) fn with_checked_images(&self, mut content: Vec<Content>) -> Vec<Content> {
        for title in check_prompt(&mut content) {
            let (severity, description) = (Severity::Warning, None);
            self.session.notify(SessionEvent::Notice { severity, title, description });
        }
        content
    }

    /// Returns a prompt with its links and mentions expanded. What cannot be read in time stays as
    /// it is.
    async fn attached(&self, content: Vec<Content>) -> Vec<Content> {
        let state = self.controls.state();
        let attaching = self.attach_links(content.clone(), &state);
        let looked = tokio::select! {
            biased;
            () = self.cancel.cancelled() => None,
            looked = tokio::time::timeout(LOOK_WAIT, attaching) => looked.ok(),
        };
        looked.unwrap_or(content)
    }

    /// Returns a prompt with its links and mentions expanded.
    async fn attach_links(&self, content: Vec<Content>, state: &SessionState) -> Vec<Content> {
        let system = self.session.system().as_ref();
        let open = |path: &_, canonical: &_| self.session.gate().attaching(state, path, canonical);
        let content = attachments::expand(content, self.session.cwd(), system, &open).await;
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
    /// command of a source. Also returns the answer if that fails, or if there is no such command.
    async fn expand_command(
        &self,
        mut content: Vec<Content>,
        state: &SessionState,
    ) -> (Vec<Content>, Option<Reply>) {
        let Some(Named { name, arguments, .. }) = Named::of(&content) else { return (content, None) };
        if let Some(prompt) = commands::prompt(name, &arguments) {
            content.push(prompt);
            return (content, None);
        }
        let sources = self.session.toolbox().sources();
        let refused = |function: &str| self.session.gate().refuses(state, function);
        let expanded = tokio::select! {
            biased;
            () = self.cancel.cancelled() => None,
            expanded = sources.expand_command(name, &arguments, &refused) => expanded,
        };
        match expanded {
            Some(Ok(more)) => {
                content.extend(more);
                (content, None)
            }
            Some(Err(why)) => (content, Some(Reply::refused(why))),
            None => {
                let unknown = match content.first() {
                    Some(Content::Text(text)) if !self.session.is_subagent() => {
                        commands::unknown_command(text, &commands::all(sources))
                    }
                    _ => None,
                };
                (content, unknown.map(|why| Reply::unknown(format!("Nothing was sent to the model: {why}."))))
            }
        }
    }

    /// Runs the hooks on a prompt. Returns the prompt with their notes, and the answer if one
    /// denied it.
    pub(super) async fn ask_hooks(&self, mut content: Vec<Content>) -> (Vec<Content>, Option<Reply>) {
        let about = || json!({ "prompt": words(&content) });
        let hooks = self.session.reload_settings().await.hooks.clone();
        let said = hooks.run(HookEvent::Prompt, &self.session.programs(), None, about, self.cancel).await;
        let note = |text| Content::Resource {
            uri: HOOK_NOTE.to_owned(),
            mime_type: Some("text/plain".to_owned()),
            text,
        };
        content.extend(said.notes.into_iter().map(note));
        (content, said.denial.map(Reply::refused))
    }
}

/// Joins the texts of a prompt.
fn words(content: &[Content]) -> String {
    let text = |item: &Content| match item {
        Content::Text(text) => Some(text.clone()),
        _ => None,
    };
    content.iter().filter_map(text).collect::<Vec<_>>().join("\n")
}

/// Returns the title of a session that begins with a prompt for the model.
fn title(command: Option<&Action>, content: &[Content]) -> Option<String> {
    let first_line =
        |text: &str| text.lines().map(|line| label(line, TITLE_CHARS)).find(|line| !line.is_empty());
    match command {
        Some(Action::Goal(GoalCommand::Change(GoalChange::Set { objective, .. }))) => first_line(objective),
        _ => commands::for_model(content).iter().find_map(|item| match item {
            Content::Text(text) => first_line(text),
            _ => None,
        }),
    }
}
