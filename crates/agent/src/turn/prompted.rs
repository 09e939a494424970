//! What a turn begins with: the prompt, and what is looked up for it before it is recorded.

use crate::{
    Content, HookEvent, MessageId, SessionEvent, SessionState, Severity, TurnId,
    input::attachments,
    input::commands,
    input::mentions,
    limits::TITLE_CHARS,
    session::{Session, controls::Controls},
    sources::SourceNotice,
    text::sanitise::label,
};
use serde_json::json;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// What a turn begins with.
pub(crate) struct Prompted {
    pub(crate) content: Vec<Content>,
    /// Told the id of its message once that is recorded.
    pub(crate) recorded: oneshot::Sender<MessageId>,
}

/// What begins a turn.
pub(super) fn prompt_events(
    controls: &Controls,
    turn: &TurnId,
    message: &MessageId,
    content: &[Content],
) -> Vec<SessionEvent> {
    let mut events = vec![
        SessionEvent::TurnStarted { turn: turn.clone() },
        SessionEvent::UserMessage { id: message.clone(), content: content.to_vec() },
    ];
    if controls.state().title.is_none()
        && let Some(title) = title(content)
    {
        events.push(SessionEvent::TitleChanged(title));
    }
    events
}

/// The texts of a prompt.
pub(super) fn words(content: &[Content]) -> String {
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

impl Session {
    /// A prompt with what it links to and mentions.
    pub(super) async fn look_at(&self, content: Vec<Content>, state: &SessionState) -> Vec<Content> {
        let system = self.gate.system.as_ref();
        let open = |path: &_, canonical: &_| self.gate.attaching(state, path, canonical);
        let content = attachments::expand(content, system, &open).await;
        for path in attachments::files(&content) {
            // Searches ask the editor for it, as far as the tools may read it.
            let canonical = system.resolve(&path).await;
            if canonical.is_ok_and(|canonical| open(&path, &canonical).is_some()) {
                self.files.named(&path);
            }
        }
        if self.sources.is_empty() {
            return content;
        }
        let refused = |function: &str| self.gate.refuses(state, function);
        let (content, problems) = mentions::attach(content, &self.sources, system, &open, &refused).await;
        for title in problems {
            self.log.tell(SessionEvent::Notice { severity: Severity::Warning, title, description: None });
        }
        content
    }

    /// A prompt that is a command of a source, with what the user says with it; and why that cannot
    /// be, if it cannot. A prompt that begins with `/` and is no command is left as it is.
    pub(super) async fn say_command(
        &self,
        mut content: Vec<Content>,
        state: &SessionState,
        cancel: &CancellationToken,
    ) -> (Vec<Content>, Option<String>) {
        let Some(Content::Text(text)) = content.first() else { return (content, None) };
        let Some((name, arguments)) = commands::named(text) else { return (content, None) };
        let refused = |function: &str| self.gate.refuses(state, function);
        let said = tokio::select! {
            biased;
            () = cancel.cancelled() => None,
            said = self.sources.say(name, arguments, &refused) => said,
        };
        match said {
            None => (content, None),
            Some(Ok(more)) => {
                content.extend(more);
                (content, None)
            }
            Some(Err(why)) => (content, Some(why)),
        }
    }

    /// A notice that names the command which a prompt looks like, where it is close to one.
    pub(super) fn command_hint(&self, content: &[Content]) -> Option<SourceNotice> {
        let Some(Content::Text(text)) = content.first() else { return None };
        let (given, _) = commands::named(text)?;
        let meant = commands::nearest(given, &commands::all(&self.sources))?;
        Some(SourceNotice {
            severity: Severity::Warning,
            title: format!("There is no command /{given}; did you mean /{meant}? The model was asked."),
            description: None,
        })
    }

    /// What hooks make of a prompt: it with their notes, and why it must not be, if it must not.
    pub(super) async fn ask_hooks(
        &self,
        mut content: Vec<Content>,
        cancel: &CancellationToken,
    ) -> (Vec<Content>, Option<String>) {
        let about = || json!({ "prompt": words(&content) });
        let hooks = self.look_at_settings().await.hooks.clone();
        let said = hooks.run(HookEvent::Prompt, &self.cwd, None, about, cancel).await;
        content.extend(said.notes.into_iter().map(Content::text));
        (content, said.denial)
    }

    /// Begins to store what begins a turn; whoever needs it stored awaits [`Session::stored`].
    pub(super) fn begin_storing(
        &mut self,
        events: Vec<SessionEvent>,
        message: MessageId,
        recorded: oneshot::Sender<MessageId>,
    ) {
        self.storing = Some(self.log.record_ahead(events, move || {
            // Most clients only wait for the end.
            let _ = recorded.send(message);
        }));
    }
}
