//! Calls the model once and streams its answer to the client.

use super::{answer_items::AnswerItems, answer_parts::AnswerParts, text_calls::CallFilter};
use crate::{
    ANSWER_BYTES, LanguageModel, MessageId, ModelError, ModelEvent, ModelInfo, ModelRequest, ModelResponse,
    ModelStop, SessionEvent, Severity, StoreError, ToolCallRequest, Usage, model::bounded, session::Session,
};
use futures::{StreamExt as _, stream::BoxStream};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// An answer of the model, as far as it was received.
pub(super) struct Answer {
    pub(super) response: ModelResponse,
    /// The queries for which the provider searched the web meanwhile.
    pub(super) searches: Vec<String>,
    pub(super) usage: Usage,
    pub(super) stop: Result<ModelStop, ModelError>,
}

impl Answer {
    /// Whether the request failed because the conversation exceeds the model's context, with no
    /// part of an answer.
    pub(super) fn overflows(&self) -> bool {
        matches!(self.stop, Err(ModelError::ContextOverflow(_))) && self.response.items.is_empty()
    }
}

/// Calls the model and streams its answer to the client. A cancelled, broken or cut-off answer
/// keeps its text and loses its calls. While the client is behind, the model's stream is not read
/// (backpressure). Its parts are stored while it arrives.
pub(super) async fn ask(
    session: &mut Session,
    model: &dyn LanguageModel,
    request: ModelRequest,
    cancel: &CancellationToken,
) -> Result<Answer, StoreError> {
    session.room(cancel).await;
    let (id, thought_id) = session.conversation().next_answer();
    let mut usage = Usage::default();
    let (mut items, mut searches) = (AnswerItems::default(), Vec::new());
    let mut parts = AnswerParts::new(&id, &thought_id, &model.info().id);
    let mut filter = CallFilter::new(model.info(), session.settings().calls_as_text);
    let offered = request.tools.clone();
    let mut stream = bounded::ask(model, request);
    // The request overlaps the disk write; no part of the answer is emitted before the prompt is
    // stored.
    let (stored, first) = futures::join!(session.stored(), next(&mut stream, cancel));
    stored?;
    if let Some(disclosure) = disclosure(session, model.info()) {
        let text = filter.push(&items.whole_text(&disclosure));
        parts.text(&text);
        notify_text(session, &id, text);
    }
    let mut first = Some(first);
    let stop = loop {
        let event = match first.take() {
            Some(event) => event,
            None => {
                session.room(cancel).await;
                loop {
                    tokio::select! {
                        biased;
                        () = parts.due() => parts.store(session),
                        event = next(&mut stream, cancel) => break event,
                    }
                }
            }
        };
        match event {
            None => {
                break Err(ModelError::Transport(
                    "the model's answer ended without an end marker; try again".to_owned(),
                ));
            }
            Some(Err(error)) => break Err(error),
            Some(Ok(ModelEvent::Stop(stop))) => break Ok(stop),
            Some(Ok(ModelEvent::Text(text))) => {
                let text = filter.push(&items.text(text));
                parts.text(&text);
                notify_text(session, &id, text);
            }
            Some(Ok(ModelEvent::TextDone(opaque))) => items.end_text(opaque),
            Some(Ok(ModelEvent::Reasoning(text))) => {
                let text = items.reasoning(text);
                parts.thought(&text);
                session.notify(SessionEvent::ThoughtDelta { id: thought_id.clone(), text });
            }
            Some(Ok(ModelEvent::ReasoningDone(reasoning))) => items.end_reasoning(reasoning),
            Some(Ok(ModelEvent::ToolCall(call))) => {
                let id = session.conversation().next_call(items.calls());
                items.call(ToolCallRequest::new(id, call));
            }
            Some(Ok(ModelEvent::Other(opaque))) => items.other(opaque),
            Some(Ok(ModelEvent::HostedSearch(query))) => searches.push(query),
            Some(Ok(ModelEvent::Usage(now))) => usage = now,
            Some(Ok(ModelEvent::Alive)) => {}
            Some(Ok(ModelEvent::Notice(text))) => session.notify(SessionEvent::Notice {
                severity: Severity::Warning,
                title: text,
                description: None,
            }),
            Some(Ok(ModelEvent::Retrying { attempt, after, reason, .. })) => {
                session.notify(retrying(attempt, after, reason));
            }
        }
    };
    let broken = stop.is_err() || cancel.is_cancelled();
    if broken {
        items.drop_calls();
    }
    let held = match broken || items.calls() > 0 {
        true => filter.rest(usize::MAX),
        false => {
            let offered: Vec<_> = offered.iter().map(|spec| spec.name.as_str()).collect();
            filter.settle(session, &offered, &mut items)
        }
    };
    notify_text(session, &id, held);
    let stop = match stop {
        Err(ModelError::AnswerTooLong) => {
            let text = items.whole_text(&cut_off(session));
            session.notify(SessionEvent::MessageDelta { id: id.clone(), text });
            Ok(ModelStop::MaxTokens)
        }
        stop => stop,
    };
    // A part may still be on its way to the store.
    session.stored().await?;
    let response =
        ModelResponse { id, thought_id, model: model.info().id.clone(), items: items.into_items() };
    Ok(Answer { response, searches, usage, stop })
}

/// Emits a piece of the answer, unless it is empty.
fn notify_text(session: &Session, id: &MessageId, text: String) {
    if !text.is_empty() {
        session.notify(SessionEvent::MessageDelta { id: id.clone(), text });
    }
}

/// Emits a notice that an answer was cut off; returns the mark at the end of its text.
fn cut_off(session: &Session) -> String {
    let most = ANSWER_BYTES >> 20;
    session.notify(SessionEvent::Notice {
        severity: Severity::Warning,
        title: format!("The model's answer was cut off: it is longer than {most} MiB"),
        description: Some(
            "What came before is kept; tools that it called are not run. Ask for less at a time, or have \
             it written to files in parts."
                .to_owned(),
        ),
    });
    format!("[cut off here: an answer may have {most} MiB]")
}

/// Returns the next event of the stream; a stop if cancelled.
pub(super) async fn next(
    stream: &mut BoxStream<'_, Result<ModelEvent, ModelError>>,
    cancel: &CancellationToken,
) -> Option<Result<ModelEvent, ModelError>> {
    tokio::select! {
        biased;
        () = cancel.cancelled() => Some(Ok(ModelEvent::Stop(ModelStop::EndTurn))),
        event = stream.next() => event,
    }
}

/// Returns the notice shown while a request is retried.
pub(super) fn retrying(attempt: u32, after: Duration, reason: String) -> SessionEvent {
    let title = match after.is_zero() {
        // Another request follows, without what was refused.
        true => "The request is sent again".to_owned(),
        false => format!("The model did not answer; attempt {attempt} in {:.1} s", after.as_secs_f64()),
    };
    SessionEvent::Notice { severity: Severity::Warning, title, description: Some(reason) }
}

/// Returns the disclosure that a stand-in for a language model must show once per session and
/// model.
fn disclosure(session: &Session, info: &ModelInfo) -> Option<String> {
    let disclosure = info.disclosure.as_ref()?;
    (!session.conversation().has_answered(&info.id)).then(|| format!("{disclosure}\n\n"))
}
