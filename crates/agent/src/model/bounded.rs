//! Limits the size of a model's answer: what a runaway model sends beyond the limit is not read.

use super::span::ModelSpan;
use crate::{
    LanguageModel, ModelCall, ModelError, ModelEvent, ModelInfo, ModelRequest, Price,
    event::item::opaque_bytes,
    limits::{ANSWER_BYTES, ANSWER_EVENTS_AT_ONCE, MODEL_SILENCE, SILENCE_GRACE},
    text::cut::floor_char_boundary,
};
use futures::{StreamExt as _, stream, stream::BoxStream};
use std::time::Duration;

/// Sends a request to a model.
///
/// The stream ends with [`ModelError::AnswerTooLong`] if the answer exceeds [`ANSWER_BYTES`]: text,
/// reasoning, call arguments and opaque wire forms together. What came before the limit is yielded;
/// the request is dropped.
///
/// A model whose events are always ready cannot monopolise the thread: the stream yields to other
/// tasks after every [`ANSWER_EVENTS_AT_ONCE`] events. A model that sends no event for too long
/// ends with [`ModelError::Transport`]; [`ModelEvent::Alive`] resets that timeout and is not passed
/// on. The cost of the tokens is added to [`ModelEvent::Usage`].
pub(crate) fn ask(
    model: &dyn LanguageModel,
    request: ModelRequest,
) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
    let info = model.info();
    let span = ModelSpan::of(info, &request);
    let answer = Bounded {
        inner: Some(span.span().in_scope(|| model.stream(request))),
        left: ANSWER_BYTES,
        over: false,
        events: 0,
        silence: silence(info),
        price: info.price,
        span,
    };
    stream::unfold(answer, |mut answer| async move {
        let event = answer.next().await?;
        answer.span.note(&event);
        Some((event, answer))
    })
    .boxed()
}

struct Bounded {
    /// The model's own stream; `None` once the answer is cut off.
    inner: Option<BoxStream<'static, Result<ModelEvent, ModelError>>>,
    /// Bytes that may still be read.
    left: usize,
    /// The answer was cut off and the error is still to be yielded.
    over: bool,
    /// Events since other tasks last ran.
    events: u32,
    /// The timeout for the next event.
    silence: Duration,
    price: Option<Price>,
    span: ModelSpan,
}

/// Returns the timeout for an event. An implementation that watches its server itself has a shorter
/// timeout of its own, so it ends first.
fn silence(info: &ModelInfo) -> Duration {
    info.limits.silence.map_or(MODEL_SILENCE, |own| own.saturating_add(SILENCE_GRACE))
}

impl Bounded {
    async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        if std::mem::take(&mut self.over) {
            return Some(Err(ModelError::AnswerTooLong));
        }
        self.events += 1;
        if self.events > ANSWER_EVENTS_AT_ONCE {
            self.events = 0;
            tokio::task::yield_now().await;
        }
        let event = match self.next_event().await? {
            Ok(ModelEvent::Usage(used)) => ModelEvent::Usage(used.priced(self.price.as_ref())),
            Ok(event) => event,
            Err(error) => return Some(Err(error)),
        };
        let bytes = size(&event);
        if let Some(left) = self.left.checked_sub(bytes) {
            self.left = left;
            return Some(Ok(event));
        }
        self.inner = None;
        let Some(event) = cut(event, self.left) else { return Some(Err(ModelError::AnswerTooLong)) };
        self.over = true;
        Some(Ok(event))
    }

    /// Returns the next event other than [`ModelEvent::Alive`].
    async fn next_event(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        let inner = self.inner.as_mut()?;
        loop {
            let Ok(event) = tokio::time::timeout(self.silence, inner.next()).await else {
                self.inner = None;
                let seconds = self.silence.as_secs();
                let text = format!("the model sent nothing for {seconds} s; try again");
                return Some(Err(ModelError::Transport(text)));
            };
            if !matches!(event, Some(Ok(ModelEvent::Alive))) {
                return event;
            }
        }
    }
}

/// Returns how many bytes of the answer an event holds. The text of a finished block was counted in
/// its deltas, so only its opaque form counts here.
fn size(event: &ModelEvent) -> usize {
    match event {
        ModelEvent::Text(text) | ModelEvent::Reasoning(text) => text.len(),
        ModelEvent::TextDone(opaque) => opaque_bytes(opaque.as_ref()),
        ModelEvent::ReasoningDone(reasoning) => opaque_bytes(reasoning.opaque.as_ref()),
        ModelEvent::ToolCall(ModelCall { provider_id, name, arguments, opaque }) => {
            provider_id.len() + name.len() + arguments.len() + opaque_bytes(opaque.as_ref())
        }
        ModelEvent::Other(opaque) => opaque.len(),
        ModelEvent::HostedSearch(query) => query.len(),
        ModelEvent::Usage(_)
        | ModelEvent::Alive
        | ModelEvent::Notice(_)
        | ModelEvent::Stop(_)
        | ModelEvent::Retrying { .. } => 0,
    }
}

/// Returns the first `most` bytes of an event; `None` if it cannot be cut or nothing would be left.
fn cut(event: ModelEvent, most: usize) -> Option<ModelEvent> {
    let head = |mut text: String| {
        text.truncate(floor_char_boundary(&text, most));
        (!text.is_empty()).then_some(text)
    };
    match event {
        ModelEvent::Text(text) => head(text).map(ModelEvent::Text),
        ModelEvent::Reasoning(text) => head(text).map(ModelEvent::Reasoning),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        ModelLimits, ModelStop, Reasoning,
        fake::{FakeModel, Reply},
    };

    const PIECE: usize = 1024 * 1024;

    async fn answer(events: Vec<ModelEvent>) -> Vec<Result<ModelEvent, ModelError>> {
        let model = FakeModel::new([Reply::ok(events)]);
        let request = ModelRequest {
            messages: vec![crate::Message::User(vec![crate::Content::text("hi")])],
            ..ModelRequest::default()
        };
        ask(model.as_ref(), request).collect().await
    }

    fn call(arguments: String) -> ModelEvent {
        let (provider_id, name) = (String::new(), String::new());
        ModelEvent::ToolCall(ModelCall { provider_id, name, arguments, opaque: None })
    }

    /// A model that yields its events at this interval in seconds, and then hangs.
    struct Slow {
        info: ModelInfo,
        every: u64,
        events: Vec<ModelEvent>,
    }

    impl LanguageModel for Slow {
        fn info(&self) -> &ModelInfo {
            &self.info
        }

        fn stream(&self, _: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
            let pace = tokio::time::interval_at(tokio::time::Instant::now(), Duration::from_secs(self.every));
            let events =
                stream::unfold((pace, self.events.clone().into_iter()), |(mut pace, mut left)| async {
                    pace.tick().await;
                    Some((Ok(left.next()?), (pace, left)))
                });
            events.chain(stream::pending()).boxed()
        }
    }

    async fn slow(
        silence: Option<u64>,
        every: u64,
        events: Vec<ModelEvent>,
    ) -> Vec<Result<ModelEvent, ModelError>> {
        let limits = ModelLimits { silence: silence.map(Duration::from_secs), ..ModelLimits::default() };
        let info = ModelInfo { limits, ..ModelInfo::default() };
        ask(&Slow { info, every, events }, ModelRequest::default()).collect().await
    }

    #[tokio::test(start_paused = true)]
    async fn silence_ends_an_answer_later_than_the_model_itself_would_and_signs_of_life_do_not() {
        let text = || ModelEvent::Text("x".to_owned());
        let ended = |seconds: u64| {
            let text = format!("the model sent nothing for {seconds} s; try again");
            Err(ModelError::Transport(text))
        };
        let alive = vec![ModelEvent::Alive; 9].into_iter().chain([text()]).collect();
        assert_eq!(slow(None, 250, alive).await, [Ok(text()), ended(300)], "40 minutes with life");
        assert_eq!(slow(None, 400, vec![text(), text()]).await, [Ok(text()), ended(300)]);
        assert_eq!(slow(Some(600), 700, vec![text(), text()]).await, [Ok(text()), Ok(text()), ended(720)]);
    }

    #[tokio::test]
    async fn tokens_are_told_with_what_they_cost() {
        let rates = crate::Rates { input: 1.0, output: 2.0, cache_read: None, cache_write: None };
        let price = Some(Price { rates, long: None });
        let info = ModelInfo { price, ..ModelInfo::default() };
        let used = crate::Usage { input: 10, output: 5, ..crate::Usage::default() };
        let model = Slow { info, every: 1, events: vec![ModelEvent::Usage(used)] };
        let first = ask(&model, ModelRequest::default()).next().await;
        let Some(Ok(ModelEvent::Usage(usage))) = first else { panic!("{first:?}") };
        assert_eq!((usage.cost, usage.unpriced), (Some(crate::Cost(20_000_000)), 0));
    }

    #[tokio::test]
    async fn an_answer_of_exactly_the_limit_is_whole() {
        let events = vec![
            ModelEvent::Text("x".repeat(ANSWER_BYTES - 9)),
            call(r#"{"a": 10}"#.to_owned()),
            ModelEvent::Stop(ModelStop::ToolCalls),
        ];
        assert!(answer(events.clone()).await.into_iter().eq(events.into_iter().map(Ok)));
    }

    #[tokio::test]
    async fn text_is_cut_at_the_limit_between_characters() {
        let got =
            answer(vec![ModelEvent::Text("€".repeat(ANSWER_BYTES)), ModelEvent::Text("x".into())]).await;
        let [Ok(ModelEvent::Text(text)), Err(ModelError::AnswerTooLong)] = &got[..] else {
            panic!("{} events", got.len())
        };
        assert_eq!(text.len(), ANSWER_BYTES / 3 * 3);
    }

    #[tokio::test]
    async fn text_reasoning_and_arguments_count_together() {
        let raw = || "x".repeat(3 * PIECE);
        let got = answer(vec![
            ModelEvent::Reasoning(raw()),
            ModelEvent::ReasoningDone(Reasoning { text: raw(), opaque: None }),
            ModelEvent::Text(raw()),
            call("x".repeat(PIECE)),
            call(raw()),
        ])
        .await;
        assert_eq!((got.len(), got.last()), (5, Some(&Err(ModelError::AnswerTooLong))));
        let long = "x".repeat(ANSWER_BYTES + 1);
        let opaque = Reasoning { text: String::new(), opaque: Some(long.clone()) };
        for event in [
            ModelEvent::ReasoningDone(opaque),
            ModelEvent::TextDone(Some(long.clone())),
            ModelEvent::Other(long),
        ] {
            assert_eq!(answer(vec![event]).await, [Err(ModelError::AnswerTooLong)]);
        }
    }
}
