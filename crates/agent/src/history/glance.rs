//! The end of a stored session at a glance, for a list of sessions.

use crate::{
    Content, SessionEvent, SessionId, SessionStore, StoreError, TurnEnd,
    limits::{EVENTS_PAGE, GLANCE_EVENTS, TAIL_EVENTS},
    text::sanitise::sanitise,
};

/// How a session ended, as far as the last events say.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Glance {
    /// The text of the last prompt.
    pub prompt: Option<String>,
    /// The last text of the model after that prompt.
    pub answer: Option<String>,
    /// How the last turn ended; `None` while it runs, or if it was interrupted.
    pub end: Option<TurnEnd>,
}

/// Returns the end of a session's log at a glance. Reads only the last events.
pub(crate) async fn glance(store: &dyn SessionStore, id: &SessionId) -> Result<Glance, StoreError> {
    let last = store.get(id).await?.last_seq;
    let mut back = TAIL_EVENTS;
    loop {
        let begin = last.saturating_sub(back);
        let glance = from(store, id, begin).await?;
        if glance.prompt.is_some() || begin == 0 || back >= GLANCE_EVENTS {
            return Ok(glance);
        }
        back = back.saturating_mul(4);
    }
}

/// Reads the events after number `after` to the end.
async fn from(store: &dyn SessionStore, id: &SessionId, mut after: u64) -> Result<Glance, StoreError> {
    let mut glance = Glance::default();
    loop {
        let page = store.events(id, after, EVENTS_PAGE).await?;
        let Some((last, _)) = page.last() else { return Ok(glance) };
        after = *last;
        page.iter().for_each(|(_, event)| glance.apply(event));
    }
}

impl Glance {
    fn apply(&mut self, event: &SessionEvent) {
        match event {
            SessionEvent::TurnStarted { .. } => self.end = None,
            SessionEvent::UserMessage { content, .. } => {
                *self = Self { prompt: text_of(content), ..Self::default() };
            }
            SessionEvent::ModelResponse(response) => {
                let text = sanitise(response.text().trim());
                if !text.is_empty() {
                    self.answer = Some(text);
                }
            }
            SessionEvent::TurnEnded { end, .. } => {
                self.end = Some(match end {
                    TurnEnd::Failed(why) => TurnEnd::Failed(sanitise(why)),
                    TurnEnd::Stopped(reason) => TurnEnd::Stopped(*reason),
                });
            }
            _ => {}
        }
    }
}

/// Returns the first text of a message, sanitised for display.
fn text_of(content: &[Content]) -> Option<String> {
    content.iter().find_map(|content| match content {
        Content::Text(text) if !text.trim().is_empty() => Some(sanitise(text.trim())),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MessageId, Mode, ModelResponse, NewSession, PermissionMode, StopReason, fake::MemoryStore};
    use system::AbsPath;

    fn said(text: &str) -> SessionEvent {
        SessionEvent::UserMessage { id: "m".into(), content: vec![Content::text(text)] }
    }

    fn answered(text: &str) -> SessionEvent {
        let id = || MessageId::from("a");
        SessionEvent::ModelResponse(ModelResponse::from_text(id(), id(), "m", text))
    }

    fn ended(end: TurnEnd) -> SessionEvent {
        SessionEvent::TurnEnded { turn: "t".into(), end }
    }

    async fn of(events: Vec<SessionEvent>) -> Glance {
        let store = MemoryStore::default();
        let session = NewSession {
            id: "s".into(),
            cwd: AbsPath::new("/w").unwrap(),
            additional_directories: Vec::new(),
            model: "m".to_owned(),
            mode: Mode::Edit,
            permission_mode: PermissionMode::Guardian,
            parent: None,
            owner: None,
        };
        let lease = store.create(session).await.unwrap();
        store.append(&lease, events).await.unwrap();
        glance(&store, &"s".into()).await.unwrap()
    }

    #[tokio::test]
    async fn a_glance_has_the_last_prompt_what_was_answered_and_how_it_ended() {
        let done = || TurnEnd::Stopped(StopReason::EndTurn);
        let events = vec![
            said("first"),
            answered("one"),
            ended(done()),
            said("second\u{1b}[2J"),
            answered("two"),
            answered(" "),
            ended(TurnEnd::Failed("no\u{7} key".to_owned())),
        ];
        let glance = of(events).await;
        assert_eq!(glance.prompt.as_deref(), Some("second"));
        assert_eq!(glance.answer.as_deref(), Some("two"));
        assert_eq!(glance.end, Some(TurnEnd::Failed("no key".to_owned())));
        // What was answered before the last prompt is not its result.
        let glance = of(vec![said("a"), answered("b"), ended(done()), said("c")]).await;
        assert_eq!(glance, Glance { prompt: Some("c".to_owned()), ..Glance::default() });
    }

    #[tokio::test]
    async fn a_glance_reads_back_to_the_prompt_of_a_long_turn_and_no_further_than_its_limit() {
        let turn = |events: u64| {
            let calls = (0..events).map(|_| SessionEvent::ModeChanged(Mode::Edit));
            std::iter::once(said("long")).chain(calls).collect()
        };
        assert_eq!(of(turn(TAIL_EVENTS * 3)).await.prompt.as_deref(), Some("long"));
        assert_eq!(of(turn(GLANCE_EVENTS * 2)).await, Glance::default());
    }
}
