//! What a client is shown of an event: the same, with what could repaint or mislead taken out.
//!
//! Applied where events and questions leave for a client and nowhere else. What is stored, and what the model reads, stays as it was. Diffs are shown
//! as they will be written.

use crate::{
    CompactionStep, Content, MessageId, PermissionRequest, PlanEntry, SessionEvent, SubagentState,
    SwarmEvent, ToolCallUpdate, ToolContent,
    sanitise::{Sanitiser, sanitise},
};
use std::sync::{Mutex, PoisonError};

/// Cleans a session's events for its client. Messages come in pieces, so it remembers how the last piece ended.
#[derive(Debug, Default)]
pub(crate) struct Cleaner {
    stream: Mutex<Option<(MessageId, Sanitiser)>>,
}

impl Cleaner {
    /// The event as it is shown.
    pub(crate) fn event(&self, event: &SessionEvent) -> SessionEvent {
        let mut event = event.clone();
        match &mut event {
            SessionEvent::MessageDelta { id, text } | SessionEvent::ThoughtDelta { id, text } => {
                *text = self.piece(id, text);
            }
            SessionEvent::ModelResponse(response) => {
                clean(&mut response.text);
                response.reasoning.iter_mut().for_each(|piece| clean(&mut piece.text));
            }
            SessionEvent::ToolCall(update) => clean_call(update),
            SessionEvent::PermissionRequested { question, .. } => clean(question),
            SessionEvent::Plan(entries) => {
                entries.iter_mut().for_each(|PlanEntry { content, .. }| clean(content))
            }
            SessionEvent::TitleChanged(title) => clean(title),
            SessionEvent::Commands(commands) => {
                for command in commands {
                    clean(command.description.to_mut());
                    command.hint.iter_mut().for_each(|hint| clean(hint.to_mut()));
                }
            }
            SessionEvent::Swarm(event) => clean_swarm(event),
            SessionEvent::Notice { title, description, .. } => {
                clean(title);
                description.iter_mut().for_each(clean);
            }
            SessionEvent::Compaction(compaction) => match &mut compaction.step {
                CompactionStep::Text(text)
                | CompactionStep::Completed { summary: text, .. }
                | CompactionStep::Failed(text) => clean(text),
                CompactionStep::Started | CompactionStep::Cancelled => {}
            },
            _ => {}
        }
        event
    }

    fn piece(&self, id: &MessageId, text: &str) -> String {
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *stream {
            Some((current, sanitiser)) if current == id => sanitiser.push(text),
            other => other.insert((id.clone(), Sanitiser::default())).1.push(text),
        }
    }
}

/// A question as it is shown.
pub(crate) fn request(mut request: PermissionRequest) -> PermissionRequest {
    clean(&mut request.title);
    clean(&mut request.question);
    clean(&mut request.grant_label);
    request.content.iter_mut().for_each(clean_content);
    request
}

fn clean_call(update: &mut ToolCallUpdate) {
    update.title.iter_mut().for_each(clean);
    update.content.iter_mut().flatten().for_each(clean_content);
    if let Some(result) = &mut update.result {
        clean(&mut result.text);
    }
}

fn clean_swarm(event: &mut SwarmEvent) {
    let clean_state = |state: &mut SubagentState| {
        clean(&mut state.task);
        let texts = [&mut state.queue_reason, &mut state.error, &mut state.last_message];
        texts.into_iter().flatten().for_each(clean);
        state.output.iter_mut().for_each(|output| clean(&mut output.preview));
    };
    match event {
        SwarmEvent::Spawned(_) | SwarmEvent::Running(_) => {}
        SwarmEvent::Completed(ends) => ends.iter_mut().for_each(|end| {
            clean(&mut end.result);
            clean_state(&mut end.state);
            end.descendants.iter_mut().for_each(clean_state);
        }),
        SwarmEvent::State(swarm) => swarm.agents.iter_mut().for_each(clean_state),
    }
}

fn clean_content(content: &mut ToolContent) {
    if let ToolContent::Content(Content::Text(text)) = content {
        clean(text);
    }
}

/// Most texts hold nothing to take out, and are not copied.
fn clean(text: &mut String) {
    let plain = |byte: u8| byte == b'\n' || byte == b'\t' || (b' '..0x7f).contains(&byte);
    if !text.bytes().all(plain) {
        *text = sanitise(text);
    }
}
