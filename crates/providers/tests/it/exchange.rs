//! Retries, delays, credentials and cancellation.

use crate::{
    faker::{CHUNKED, Faker, HEAD, Step},
    support::{KEY, answer, catalog, model, model_with, options, request, show, vendor},
};
use agent::{ModelError, ModelEvent, Models};
use futures::StreamExt;
use providers::{ProvidersOptions, Secret, Wire};
use std::time::Duration;

const HELLO: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"hello\"}}]}\n\ndata: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

fn error(status: &str) -> Vec<Step> {
    vec![Faker::status(status, "content-type: application/json\r\n", r#"{"error":{"message":"told"}}"#)]
}

#[tokio::test]
async fn transient_failures_are_retried() {
    for status in ["429 X", "500 X", "502 X", "503 X", "504 X", "529 X"] {
        let faker = Faker::start(vec![error(status), vec![Faker::events(HELLO)]]).await;
        let got = answer(&*model(Wire::Chat, &faker).await).await;
        assert_eq!(got, "retrying: 2\ntext: hello\nstop: EndTurn", "{status}");
    }
    let cut = vec![Step::Send(HEAD.into())];
    let faker = Faker::start(vec![vec![], cut, vec![Faker::events(HELLO)]]).await;
    let got = answer(&*model(Wire::Chat, &faker).await).await;
    assert_eq!(got, "retrying: 2\nretrying: 3\ntext: hello\nstop: EndTurn", "closed before the answer");
}

#[tokio::test]
async fn attempts_are_bounded_and_permanent_failures_are_not_retried() {
    for (status, tries, expected) in [
        ("529 X", 3, "Overloaded: openai is overloaded or limits requests (529): told"),
        ("500 X", 3, "Transport: openai failed (500): told"),
        ("401 X", 1, "Auth: openai refused the credentials (401): told; set OPENAI_API_KEY"),
        ("403 X", 1, "Auth: openai refused the credentials (403): told; set OPENAI_API_KEY"),
        ("404 X", 1, "BadRequest: openai has no model `gpt-test`"),
        ("400 X", 1, "BadRequest: openai refused the request to gpt-test (400): told"),
        ("413 X", 1, "BadRequest"),
        ("307 X", 1, "BadResponse: http"),
    ] {
        let faker = Faker::start(vec![error(status)]).await;
        let got = answer(&*model(Wire::Chat, &faker).await).await;
        assert!(got.lines().last().unwrap().starts_with(&format!("error: {expected}")), "{status}: {got}");
        assert_eq!(faker.seen().len(), tries, "{status}");
    }
}

#[tokio::test]
async fn a_refused_connection_is_reported() {
    for scheme in ["http", "https"] {
        let mut options = options();
        // Port 1 on loopback refuses connections: nothing listens there.
        options.vendors.openai = vendor(format!("{scheme}://127.0.0.1:1"), Wire::Chat);
        let got = answer(&*catalog(options).get("openai/m").await.unwrap()).await;
        let (retries, error) = got.split_at(got.find("error").unwrap());
        assert_eq!(retries, "retrying: 2\nretrying: 3\n", "{scheme}: {got}");
        let prefix = "error: Transport: the request to openai at ";
        assert!(
            error.starts_with(&format!("{prefix}{scheme}://127.0.0.1:1/v1/chat/completions failed")),
            "{error}"
        );
        assert!(!error.contains(KEY), "{error}");
    }
}

#[tokio::test]
async fn retry_after_is_respected() {
    let limited = vec![Faker::status("429 X", "retry-after: 7\r\n", "")];
    let faker = Faker::start(vec![limited, vec![Faker::events(HELLO)]]).await;
    let model = model(Wire::Chat, &faker).await;
    let mut stream = model.stream(request("hi"));
    let first = stream.next().await.unwrap().unwrap();
    let ModelEvent::Retrying { attempt: 2, after, reason, .. } = first else { panic!("{first:?}") };
    assert_eq!(after, Duration::from_secs(7));
    assert!(reason.contains("limits requests (429)"), "{reason}");

    // The delay follows the clock of the async runtime: 6 s are not enough, 7 s are. In between the
    // clock runs, since sockets need it to.
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(6)).await;
    tokio::time::resume();
    let early = tokio::time::timeout(Duration::from_millis(50), stream.next()).await;
    assert!(early.is_err(), "{early:?}");
    assert_eq!(faker.seen().len(), 1);
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(1)).await;
    tokio::time::resume();
    let rest: Vec<_> = stream.collect().await;
    assert_eq!(show(&rest), "text: hello\nstop: EndTurn");
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection() {
    let begun = r#"data: {"choices":[{"delta":{"content":"a"}}]}"#;
    let scripts = [
        vec![Step::Hang],
        vec![Step::Send(HEAD.into()), Step::Hang],
        vec![Faker::events(&format!("{begun}\n\n")), Step::Hang],
    ];
    for (position, script) in scripts.into_iter().enumerate() {
        let mut faker = Faker::start(vec![script]).await;
        let model = model(Wire::Chat, &faker).await;
        let mut stream = model.stream(request("hi"));
        if position == 2 {
            assert_eq!(stream.next().await.unwrap().unwrap(), ModelEvent::Text("a".into()));
        } else {
            let waiting = tokio::time::timeout(Duration::from_millis(50), stream.next()).await;
            assert!(waiting.is_err());
        }
        drop(stream);
        tokio::time::timeout(Duration::from_secs(5), faker.gone()).await.expect("the connection was closed");
    }
}

#[tokio::test]
async fn each_wire_sends_its_own_headers_to_its_own_path() {
    for (wire, path, header) in [
        (Wire::Chat, "/v1/chat/completions", format!("authorization: bearer {KEY}")),
        (Wire::Responses, "/v1/responses", format!("authorization: bearer {KEY}")),
        (Wire::Anthropic, "/v1/messages", format!("x-api-key: {KEY}")),
    ] {
        let faker = Faker::start(vec![error("400 X")]).await;
        let model = model(wire, &faker).await;
        assert!(faker.seen().is_empty(), "nothing is sent before the stream is polled");
        answer(&*model).await;
        let seen = faker.seen().remove(0);
        assert!(seen.head.starts_with(&format!("post {path} http/1.1")), "{}", seen.head);
        assert!(seen.head.contains(&header), "{}", seen.head);
        assert_eq!(seen.head.contains("anthropic-version: 2023-06-01"), wire == Wire::Anthropic);
        assert_eq!(seen.body["model"], "gpt-test");
        assert_eq!(seen.body["stream"], true);
    }
}

#[tokio::test]
async fn connections_are_reused() {
    // A body with a formal end leaves the connection open: the second request arrives on it.
    let body = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{HELLO}", HELLO.len());
    let twice = vec![Step::Send(body.into_bytes()), Step::Hang];
    let mut faker = Faker::start(vec![twice]).await;
    let model = model(Wire::Chat, &faker).await;
    assert_eq!(answer(&*model).await, "text: hello\nstop: EndTurn");
    let mut second = model.stream(request("again"));
    // The server reads the first byte of the second request on the same connection and signals it.
    let waiting = tokio::time::timeout(Duration::from_millis(50), second.next()).await;
    assert!(waiting.is_err() || faker.seen().len() == 1);
    tokio::time::timeout(Duration::from_secs(5), faker.gone()).await.expect("used again");
}

#[tokio::test]
async fn the_spare_key_is_used_once_the_first_is_refused() {
    let script = vec![error("401 X"), vec![Faker::events(HELLO)], vec![Faker::events(HELLO)], error("401 X")];
    let faker = Faker::start(script).await;
    let spare = |options: &mut ProvidersOptions| {
        options.vendors.openai.spare_key = Some(Secret::new("sk-spare-key-of-this-test"));
    };
    let model = model_with(Wire::Chat, &faker, spare).await;
    assert_eq!(answer(&*model).await, "retrying: 2\ntext: hello\nstop: EndTurn");
    assert_eq!(answer(&*model).await, "text: hello\nstop: EndTurn");
    let refused = "error: Auth: openai refused the credentials (401): told; set OPENAI_API_KEY";
    assert_eq!(answer(&*model).await, refused);
    let used_spare: Vec<_> =
        faker.seen().iter().map(|seen| seen.head.contains("sk-spare-key-of-this-test")).collect();
    assert_eq!(used_spare, [false, true, true, true]);
}

#[tokio::test]
async fn a_key_is_never_shown() {
    assert_eq!(format!("{:?}", Secret::new(KEY)), "Secret");
    let echo = Faker::status("401 X", "", &format!("your key {KEY} is wrong"));
    let faker = Faker::start(vec![vec![echo]]).await;
    let model = model_with(Wire::Chat, &faker, |options| {
        assert!(!format!("{options:?}").contains(KEY));
    })
    .await;
    let items: Vec<_> = model.stream(request("hi")).collect().await;
    assert!(!format!("{items:?}").contains(KEY), "{items:?}");
    assert!(matches!(&items[..], [Err(ModelError::Auth(text))] if text.contains("[key]")), "{items:?}");
}

/// Of the connections that many concurrent requests needed, only a few are kept for the next
/// request.
#[tokio::test]
async fn few_idle_connections_are_kept() {
    let whole = vec![Step::Send(CHUNKED.into()), Step::Chunk(HELLO.into()), Step::EndChunks, Step::Hang];
    let mut faker = Faker::start(vec![whole]).await;
    let model = model(Wire::Chat, &faker).await;
    let answers = (0..12).map(|_| answer(&*model));
    for got in futures::future::join_all(answers).await {
        assert_eq!(got, "text: hello\nstop: EndTurn");
    }
    let used = faker.seen().len();
    // The others are closed. If more were kept, this would time out.
    for _ in 4..used {
        tokio::time::timeout(Duration::from_secs(5), faker.gone()).await.expect("it is closed");
    }
    assert!(used > 4, "{used} connections at a time");
}
