//! Sanitises events for display: removes sequences that could repaint the screen or mislead the
//! reader.
//!
//! Applied only where events and questions leave for a client. What is stored, and what the model
//! reads, is unchanged. Diffs are shown exactly as they will be written. A client whose output is
//! data gets texts as they were written, without control sequences.

use crate::{
    Colours, CompactionStep, Content, Item, LiveOutput, MessageId, ModelResponse, PermissionRequest,
    PlanEntry, Reasoning, SessionEvent, SessionRecord, SubagentState, SwarmEvent, Text, ToolCallId,
    ToolCallUpdate, ToolContent, ToolStatus, TurnEnd,
    text::sanitise::{Sanitiser, escape_only, escaped, is_plain, sanitise},
};
use serde_json::Value;
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

/// Sanitises a session's events for its client. Messages and the output of running commands arrive
/// in pieces, so the cleaner keeps the parser state after the last piece of each.
#[derive(Debug, Default)]
pub(crate) struct Cleaner {
    stream: Mutex<Option<(MessageId, Sanitiser)>>,
    /// The same for the form in which the message is data.
    data: Mutex<Option<(MessageId, Sanitiser)>>,
    /// The state per running command, since commands may run in parallel; removed when the call
    /// ends.
    outputs: Mutex<HashMap<ToolCallId, Sanitiser>>,
}

impl Cleaner {
    /// Returns the event as it is displayed.
    pub(crate) fn event(&self, mut event: SessionEvent) -> SessionEvent {
        match &mut event {
            SessionEvent::MessageDelta { id, text } | SessionEvent::ThoughtDelta { id, text } => {
                *text = piece(&self.stream, id, text, Sanitiser::default);
            }
            SessionEvent::ModelResponse(response) => texts(response).for_each(clean),
            SessionEvent::AnswerPart(part) => {
                [&mut part.text, &mut part.thoughts].into_iter().for_each(clean);
            }
            SessionEvent::ToolCall(update) => {
                clean_call(update);
                self.output(update);
            }
            SessionEvent::UserMessage { content, .. } => content.iter_mut().for_each(clean_item),
            SessionEvent::ModelChanged(model) => clean(model),
            SessionEvent::TurnEnded { end: TurnEnd::Failed(why), .. } => clean(why),
            SessionEvent::PermissionRequested { question, .. } => show(question),
            SessionEvent::Plan(entries) => {
                entries.iter_mut().for_each(|PlanEntry { content, .. }| clean(content))
            }
            SessionEvent::Tasks(tasks) => tasks.iter_mut().for_each(|task| {
                [&mut task.subject, &mut task.description, &mut task.active_form].into_iter().for_each(clean);
            }),
            SessionEvent::Goal(Some(goal)) => {
                [Some(&mut goal.objective), goal.reason.as_mut()].into_iter().flatten().for_each(clean);
            }
            SessionEvent::Shell(shell) => clean(&mut shell.command),
            SessionEvent::TitleChanged(title) => clean(title),
            SessionEvent::BranchChanged(branch) => branch.iter_mut().for_each(clean),
            SessionEvent::Commands(commands) => {
                for command in commands {
                    clean(command.description.to_mut());
                    command.hint.iter_mut().for_each(|hint| clean(hint.to_mut()));
                }
            }
            SessionEvent::Swarm(event) => clean_swarm(event),
            SessionEvent::Subagent(state) => clean_subagent(state),
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

    /// Returns the event as data, given the event as it is displayed: what the model and the user
    /// wrote, without control sequences. `None` if that is the same.
    pub(crate) fn written(&self, event: &SessionEvent, shown: &SessionEvent) -> Option<SessionEvent> {
        let mut event = match event {
            // Data keeps all that is displayed. Where nothing was removed, no sequence is open
            // either, so the state of the stream stays as it is.
            _ if event == shown => return None,
            SessionEvent::MessageDelta { .. }
            | SessionEvent::ThoughtDelta { .. }
            | SessionEvent::ModelResponse(_)
            | SessionEvent::UserMessage { .. } => event.clone(),
            _ => return None,
        };
        let whole = |text: &mut String| *text = Sanitiser::of_data().push(text);
        match &mut event {
            SessionEvent::MessageDelta { id, text } | SessionEvent::ThoughtDelta { id, text } => {
                *text = piece(&self.data, id, text, Sanitiser::of_data);
            }
            SessionEvent::ModelResponse(response) => texts(response).for_each(whole),
            SessionEvent::UserMessage { content, .. } => {
                for item in content {
                    match item {
                        Content::Text(text) => whole(text),
                        item => clean_item(item),
                    }
                }
            }
            _ => {}
        }
        Some(event)
    }

    /// Sanitises one piece of a command's output; an escape sequence may begin in one piece and end
    /// in another.
    fn output(&self, update: &mut ToolCallUpdate) {
        let mut outputs = self.outputs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(LiveOutput::Text(text)) = &mut update.output {
            let sanitiser = outputs.entry(update.id.clone()).or_default();
            *text = update.colours.sanitise(sanitiser, text);
        }
        if update.status.is_some_and(ToolStatus::is_final) {
            outputs.remove(&update.id);
        }
    }
}

/// Returns the texts of a response.
fn texts(response: &mut ModelResponse) -> impl Iterator<Item = &mut String> {
    response.items.iter_mut().filter_map(|item| match item {
        Item::Text(Text { text, .. }) | Item::Reasoning(Reasoning { text, .. }) => Some(text),
        Item::Call(_) | Item::Other(_) => None,
    })
}

/// Sanitises a piece of a message that arrives in pieces.
fn piece(
    stream: &Mutex<Option<(MessageId, Sanitiser)>>,
    id: &MessageId,
    text: &str,
    new: impl FnOnce() -> Sanitiser,
) -> String {
    let mut stream = stream.lock().unwrap_or_else(PoisonError::into_inner);
    match &mut *stream {
        Some((current, sanitiser)) if current == id => sanitiser.push(text),
        other => other.insert((id.clone(), new())).1.push(text),
    }
}

/// Sanitises a session of a list: its title comes from a prompt or from a model, its branch from a
/// project.
pub(crate) fn record(record: &mut SessionRecord) {
    record.title.iter_mut().chain(record.branch.iter_mut()).for_each(clean);
}

/// Escapes a permission request, so that the user sees characters that would otherwise be
/// invisible.
pub(crate) fn request(mut request: PermissionRequest) -> PermissionRequest {
    clean(&mut request.name);
    show_value(&mut request.raw_input);
    show(&mut request.description.title);
    show(&mut request.question);
    show(&mut request.brief);
    request.place.facts.iter_mut().for_each(show);
    show(&mut request.grant_label);
    for content in &mut request.content {
        if let ToolContent::Content(Content::Text(text)) = content {
            show(text);
        }
    }
    request
}

fn clean_call(update: &mut ToolCallUpdate) {
    clean(&mut update.name);
    update.display.raw_input.iter_mut().for_each(show_value);
    update.display.title.iter_mut().for_each(clean);
    update.display.content.iter_mut().flatten().for_each(clean_content);
    if let Some(result) = &mut update.result
        && !result.text.bytes().all(is_plain)
    {
        // The colours are those of the live output, if there is one.
        let mut none = Colours::default();
        let colours = if update.output.is_none() { &mut update.colours } else { &mut none };
        result.text = colours.sanitise(&mut Sanitiser::default(), &result.text);
    }
}

fn clean_subagent(state: &mut SubagentState) {
    clean(&mut state.request.task);
    let progress = &mut state.progress;
    let texts = [
        &mut progress.queue_reason,
        &mut progress.error,
        &mut state.activity.last_message,
        &mut state.result,
    ];
    texts.into_iter().flatten().for_each(clean);
    state.output.iter_mut().for_each(|output| clean(&mut output.preview));
}

fn clean_swarm(event: &mut SwarmEvent) {
    match event {
        SwarmEvent::Spawned(_) | SwarmEvent::Running(_) => {}
        SwarmEvent::Completed(ends) => ends.iter_mut().for_each(|end| {
            clean(&mut end.result);
            clean_subagent(&mut end.state);
            end.descendants.iter_mut().for_each(clean_subagent);
        }),
        SwarmEvent::State(swarm) => swarm.agents.iter_mut().for_each(clean_subagent),
    }
}

fn clean_content(content: &mut ToolContent) {
    if let ToolContent::Content(item) = content {
        clean_item(item);
    }
}

fn clean_item(item: &mut Content) {
    match item {
        Content::Text(text) => clean(text),
        Content::Resource { uri, text, .. } => [uri, text].into_iter().for_each(clean),
        Content::ResourceLink { uri, name } => [uri, name].into_iter().for_each(clean),
        Content::Image { .. } => {}
    }
}

/// Escapes arguments rather than removing characters, so that nothing is lost.
fn show_value(value: &mut Value) {
    match value {
        // Files may end their lines with a carriage return.
        Value::String(text) if !text.bytes().all(is_plain) => {
            *text = text.split('\r').map(escape_only).collect::<Vec<_>>().join("\r");
        }
        Value::String(_) => {}
        Value::Array(items) => items.iter_mut().for_each(show_value),
        Value::Object(map) => map.values_mut().for_each(show_value),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn show(text: &mut String) {
    *text = escaped(text);
}

/// Sanitises a text in place. Most texts contain nothing to remove and are not copied.
fn clean(text: &mut String) {
    if !text.bytes().all(is_plain) {
        *text = sanitise(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// An attacker's text, with control and invisible characters.
    const EVIL: &str = "a\u{1b}]52;c;ZXZpbA==\u{7}b\u{1b}[2J\u{9b}2J\u{202e}\u{200b}\u{e0041}c";

    fn call() -> ToolCallUpdate {
        ToolCallUpdate::of("tool_0".into(), "bash")
    }

    fn said(cleaner: &Cleaner, id: &str, text: &str) -> String {
        let output = Some(LiveOutput::Text(text.to_owned()));
        let update = ToolCallUpdate { output, ..ToolCallUpdate::of(id.into(), "bash") };
        match cleaner.event(SessionEvent::ToolCall(update)) {
            SessionEvent::ToolCall(ToolCallUpdate { output: Some(LiveOutput::Text(text)), .. }) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn p12_a_sequence_over_two_pieces_of_output_is_taken_out() {
        for at in (0..EVIL.len()).filter(|at| EVIL.is_char_boundary(*at)) {
            let cleaner = Cleaner::default();
            let first = said(&cleaner, "tool_0", &EVIL[..at]);
            // The output of another command in between is a separate stream.
            assert_eq!(said(&cleaner, "tool_1", "x"), "x");
            assert_eq!(first + &said(&cleaner, "tool_0", &EVIL[at..]), "abc", "{at}");
            cleaner.event(SessionEvent::ToolCall(call().status(ToolStatus::Completed)));
            assert!(!cleaner.outputs.lock().unwrap().contains_key(&ToolCallId::from("tool_0")));
        }
    }

    #[test]
    fn p12_a_question_shows_what_would_hide_and_arguments_lose_nothing() {
        let question = request(PermissionRequest {
            description: crate::Description {
                title: EVIL.to_owned(),
                kind: crate::ToolKind::Execute,
                locations: Vec::new(),
            },
            question: EVIL.to_owned(),
            brief: EVIL.to_owned(),
            place: crate::CallPlace { directory: None, facts: vec![EVIL.to_owned()] },
            content: vec![ToolContent::Content(Content::text(EVIL))],
            id: "tool_0".into(),
            name: "bash".to_owned(),
            raw_input: json!({ "command": EVIL }),
            grant_label: String::new(),
            remedy: crate::Remedy::default(),
        });
        assert_eq!(question.raw_input["command"], crate::one_line(EVIL));
        let ToolContent::Content(Content::Text(block)) = &question.content[0] else { panic!() };
        for text in [
            &question.description.title,
            &question.question,
            &question.brief,
            &question.place.facts[0],
            block,
        ] {
            assert_eq!(*text, crate::one_line(EVIL));
        }
        let raw_input = Some(json!({ "command": EVIL, "content": "a\r\nb" }));
        let update = ToolCallUpdate {
            display: crate::ToolCallDisplay { raw_input, ..crate::ToolCallDisplay::default() },
            ..call()
        };
        let SessionEvent::ToolCall(shown) = Cleaner::default().event(SessionEvent::ToolCall(update)) else {
            panic!()
        };
        assert_eq!(
            shown.display.raw_input.unwrap(),
            json!({ "command": crate::one_line(EVIL), "content": "a\r\nb" })
        );
    }
}
