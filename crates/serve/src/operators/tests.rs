use super::*;
use crate::Metrics;
use crate::auth::{AuditError, AuditReport, QuotaLimits};
use agent::{
    Content, Cost, LanguageModel, Message, ModelError, ModelEvent, ModelRequest, ModelStop, Usage,
    fake::{FakeModel, FakeModels, Reply},
};
use futures::StreamExt as _;
use jiff::Timestamp;
use std::{
    pin::pin,
    sync::atomic::{AtomicU64, Ordering},
};

/// Keeps what is recorded.
#[derive(Default)]
struct Notes(Mutex<Vec<AuditRecord>>);

#[async_trait]
impl Audit for Notes {
    async fn record(&self, record: AuditRecord) -> Result<(), AuditError> {
        self.0.lock().unwrap().push(record);
        Ok(())
    }

    async fn since(&self, _since: Timestamp) -> Result<AuditReport, AuditError> {
        Ok(AuditReport::default())
    }
}

fn ada() -> Option<Owner> {
    Some(Owner { tenant: "a".to_owned(), user: "ada".to_owned() })
}

fn operators(user: QuotaLimits) -> (Arc<Operators>, Arc<Notes>) {
    let notes = Arc::new(Notes::default());
    let noon: Clock = Arc::new(|| "2026-11-25T12:00:00Z".parse().unwrap());
    let operators = Operators::new(Quotas::new(user, QuotaLimits::unlimited()));
    (Arc::new(operators.audited(notes.clone()).with_clock(noon)), notes)
}

/// Asks the user's model, and returns how it answered.
async fn ask(operator: &dyn Operator, model: &Arc<FakeModel>) -> Result<ModelEvent, ModelError> {
    let models = operator.models(Arc::new(FakeModels(model.clone() as Arc<dyn LanguageModel>)));
    let model = models.get("fake/model").await.unwrap();
    let messages = vec![Message::User(vec![Content::text("hello")])];
    model
        .stream(ModelRequest { messages, ..ModelRequest::default() })
        .collect::<Vec<_>>()
        .await
        .pop()
        .unwrap()
}

#[tokio::test]
async fn a_request_beyond_the_tokens_of_the_day_is_refused_until_the_day_ends() {
    let (operators, _) = operators(QuotaLimits { tokens_per_day: Some(20), ..QuotaLimits::unlimited() });
    let ada = operators.of(ada());
    // Each answer has 15 tokens. What one request uses beyond the limit is not foreseen.
    let model = FakeModel::new([Reply::text("one"), Reply::text("two")]);
    assert_eq!(ask(&*ada, &model).await, Ok(ModelEvent::Stop(ModelStop::EndTurn)));
    ada.prompt().unwrap();
    assert_eq!(ask(&*ada, &model).await, Ok(ModelEvent::Stop(ModelStop::EndTurn)));
    let Err(ModelError::NotAdmitted(refused)) = ask(&*ada, &model).await else {
        panic!("it was not refused")
    };
    assert_eq!(refused.limit, OperatorLimit::Quota("tokens_per_day"));
    assert_eq!(refused.retry_after, Some(Duration::from_secs(12 * 60 * 60)));
    assert_eq!(ada.prompt(), Err(refused), "no turn begins that could not ask its model");
    assert_eq!(model.requests().len(), 2);
}

#[tokio::test]
async fn what_was_spent_before_a_restart_and_at_other_nodes_counts() {
    let limits = QuotaLimits { microdollars_per_day: Some(1_000), ..QuotaLimits::unlimited() };
    let (operators, _) = operators(limits);
    let ada = operators.of(ada());
    let used = |picodollars| Usage { input: 1, cost: Some(Cost(picodollars)), ..Usage::default() };
    let (one, other) = (spent::amounts(used(400_000_000)), spent::amounts(used(999_000_001)));
    assert_eq!((one, other), ((1, 400), (1, 1_000)), "a part of a millionth counts whole");
    let now = (operators.clock)();
    let of = |amount| HashMap::from([("ada".to_owned(), amount)]);
    operators.quotas.at_least("a", &of(one), now);
    operators.quotas.at_least("a", &of(one), now);
    ada.prompt().unwrap();
    operators.quotas.at_least("a", &of(other), now);
    let refused = ada.prompt().unwrap_err();
    assert_eq!(refused.limit, OperatorLimit::Quota("cost_per_day"));
    // A count of an earlier day replaces nothing.
    operators.quotas.at_least("a", &of((1, 0)), now - jiff::SignedDuration::from_hours(24));
    assert_eq!(ada.prompt(), Err(refused));
}

#[tokio::test(start_paused = true)]
async fn refusals_are_recorded_with_their_quota_and_not_more_than_every_ten_seconds() {
    let (operators, notes) = operators(QuotaLimits { prompts_per_minute: 1, ..QuotaLimits::unlimited() });
    let ada = operators.of(ada());
    ada.prompt().unwrap();
    for _ in 0..5 {
        ada.prompt().unwrap_err();
    }
    tokio::time::sleep(Duration::from_secs(10)).await;
    ada.prompt().unwrap_err();
    tokio::task::yield_now().await;
    let notes = notes.0.lock().unwrap();
    assert_eq!(notes.len(), 2);
    assert!(notes.iter().all(|note| note.what == AuditEvent::QuotaRefused));
    assert_eq!(notes[0].about.as_deref(), Some("prompts_per_minute"));
    assert_eq!(notes[0].who.as_ref().unwrap().user, "ada");
}

#[tokio::test(start_paused = true)]
async fn stored_contents_are_read_at_the_start_and_every_few_minutes() {
    let limits = QuotaLimits { contents_mib: Some(1), ..QuotaLimits::unlimited() };
    let quotas = Quotas::new(limits, QuotaLimits::unlimited());
    // What the store has of Ada, and how often it was read.
    let store = Arc::new((AtomicU64::new(0), AtomicU64::new(0)));
    let asked = Arc::clone(&store);
    let read_sums = move |tenant: String| {
        asked.1.fetch_add(1, Ordering::Relaxed);
        let bytes = asked.0.load(Ordering::Relaxed);
        async move { Ok(vec![(Owner { tenant, user: "ada".to_owned() }, bytes)]) }.boxed()
    };
    let contents = StoredContents::of(Box::new(read_sums));
    let operators = Arc::new(Operators { contents, ..Operators::new(quotas) });
    let set = |bytes: u64| store.0.store(bytes, Ordering::Relaxed);
    let ada = operators.of(ada());
    let settle = async || {
        for _ in 0..9 {
            tokio::task::yield_now().await;
        }
    };
    set(1024 * 1024);
    operators.contents.restore("a", &operators.quotas, false).await;
    let refused = ada.prompt().unwrap_err();
    assert_eq!((refused.limit, refused.retry_after), (OperatorLimit::Quota("contents_mib"), None));
    operators.of(None).prompt().unwrap();
    // After a refusal they are read again soon, since the user may have deleted sessions.
    set(9);
    tokio::time::sleep(Duration::from_secs(29)).await;
    ada.prompt().unwrap_err();
    settle().await;
    ada.prompt().unwrap_err();
    tokio::time::sleep(Duration::from_secs(1)).await;
    ada.prompt().unwrap_err();
    settle().await;
    ada.prompt().unwrap();
    assert_eq!(store.1.load(Ordering::Relaxed), 2, "not with every prompt");
    set(1024 * 1024);
    for (after, read) in [(299, 2), (1, 3)] {
        tokio::time::sleep(Duration::from_secs(after)).await;
        ada.prompt().unwrap();
        settle().await;
        assert_eq!(store.1.load(Ordering::Relaxed), read);
    }
    ada.prompt().unwrap_err();
}

#[tokio::test]
async fn turns_beyond_the_limit_wait_and_those_beyond_the_queue_are_refused() {
    let limits = QuotaLimits { running_turns: 1, queued_turns: 1, ..QuotaLimits::unlimited() };
    let (operators, _) = operators(limits);
    let ada = operators.of(ada());
    let first = ada.begin_turn().await.unwrap();
    {
        let mut second = pin!(ada.begin_turn());
        assert!(second.as_mut().now_or_never().is_none(), "it waits");
        let refused = ada.begin_turn().await.unwrap_err();
        assert_eq!((refused.limit, refused.retry_after), (OperatorLimit::Quota("queued_turns"), None));
        // It is cancelled here.
    }
    let mut third = pin!(ada.begin_turn());
    assert!(third.as_mut().now_or_never().is_none(), "it has the place in the queue");
    drop(first);
    third.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_models_requests_wait_for_their_place_with_signs_of_life_and_close_a_provider_that_limits_them() {
    let unlimited = QuotaLimits::unlimited();
    let operators = Operators::new(Quotas::new(unlimited.clone(), unlimited)).with_model_concurrency(Some(1));
    let operators = Arc::new(operators);
    let limited = ModelEvent::Retrying {
        attempt: 2,
        after: Duration::from_secs(60),
        reason: "too many requests".to_owned(),
        limited: true,
    };
    let model = FakeModel::new([Reply::Hang(vec![limited]), Reply::text("two")]);
    let models: Arc<dyn Models> = Arc::new(FakeModels(model.clone() as Arc<dyn LanguageModel>));
    let of_ada = operators.of(ada()).models(models.clone()).get("fake/model").await.unwrap();
    let own = operators.of(None).models(models).get("fake/model").await.unwrap();
    let request = || ModelRequest {
        messages: vec![Message::User(vec![Content::text("hello")])],
        ..ModelRequest::default()
    };
    let begun = Instant::now();
    let mut first = of_ada.stream(request());
    assert!(matches!(first.next().await, Some(Ok(ModelEvent::Retrying { .. }))));
    let mut second = own.stream(request());
    assert_eq!(second.next().await, Some(Ok(ModelEvent::Alive)));
    assert_eq!((begun.elapsed().as_secs(), model.requests().len()), (5, 1));
    drop(first);
    let first_text = loop {
        match second.next().await {
            Some(Ok(ModelEvent::Alive)) => {}
            event => break event,
        }
    };
    assert_eq!(first_text, Some(Ok(ModelEvent::Text("two".to_owned()))));
    assert_eq!(begun.elapsed().as_secs(), 60, "the provider was closed for a minute");
    second.collect::<Vec<_>>().await;
}

#[tokio::test]
async fn turns_and_models_move_the_metrics() {
    let recorder = Metrics::default();
    let _recorded = metrics::set_default_local_recorder(&recorder);
    let (operators, _) = operators(QuotaLimits::unlimited());
    let ada = operators.of(ada());
    let session = ada.open_session().unwrap();
    let turn = ada.begin_turn().await.unwrap();
    assert_eq!((operators.load.sessions(), operators.load.turns()), (1, 1));
    let model = FakeModel::new([Reply::text("one")]);
    ask(&*ada, &model).await.unwrap();
    drop((session, turn));
    assert_eq!((operators.load.sessions(), operators.load.turns()), (0, 0));
    let text = recorder.text();
    for line in [
        "tiller_turn_seconds_count 1",
        r#"tiller_model_first_token_seconds_count{model="fake/model"} 1"#,
        r#"tiller_tokens_total{model="fake/model",direction="input"} 10"#,
        r#"tiller_tokens_total{model="fake/model",direction="output"} 5"#,
    ] {
        assert!(text.lines().any(|printed| printed == line), "{line}\n{text}");
    }
}

#[tokio::test]
async fn the_user_who_runs_the_server_is_not_limited() {
    let none = QuotaLimits {
        open_sessions: 0,
        running_turns: 0,
        queued_turns: 0,
        prompts_per_minute: 0,
        ..QuotaLimits::default()
    };
    let (operators, notes) = operators(none);
    let own = operators.of(None);
    own.open_session().unwrap();
    own.prompt().unwrap();
    own.begin_turn().await.unwrap();
    let model = FakeModel::new([Reply::text("one")]);
    ask(&*own, &model).await.unwrap();
    let ada = operators.of(ada());
    assert_eq!(ada.open_session().unwrap_err().limit, OperatorLimit::Quota("open_sessions"));
    assert_eq!(ada.prompt().unwrap_err().limit, OperatorLimit::Quota("prompts_per_minute"));
    tokio::task::yield_now().await;
    assert_eq!(notes.0.lock().unwrap().len(), 2);
}
