//! Bursts are cheap, and the first text is not delayed.

use crate::{
    faker::{CHUNKED, Faker, HEAD, Step},
    support::{answer, catalog, model, model_with, options, request, vendor},
};
use agent::{ModelEvent, Models};
use futures::StreamExt;
use providers::{
    ProvidersOptions, VendorOptions, Wire,
    limits::{SILENCE, SILENCE_NEAR},
};
use std::time::Duration;

#[tokio::test]
async fn five_thousand_events_are_streamed_in_a_burst() {
    let mut body = String::new();
    for _ in 0..5_000 {
        body.push_str("data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word \"},\"logprobs\":null,\"finish_reason\":null}]}\n\n");
    }
    body.push_str("data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n");
    let faker = Faker::start(vec![vec![Faker::events(&body)]]).await;
    let got = answer(&*model(Wire::Chat, &faker).await).await;
    assert_eq!(got, format!("text: {}\nstop: EndTurn", "word ".repeat(5_000)));
}

#[tokio::test]
async fn pings_comments_and_empty_events_reset_the_silence_timeout() {
    let answer_text = "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\n";
    for life in
        [": ping\n\n", "\n", "event: ping\ndata: {\"type\":\"ping\"}\n\n", "data: {\"choices\":[]}\n\n"]
    {
        let script = vec![
            Step::Send(HEAD.into()),
            Step::Ping(life.into(), 20, Duration::from_millis(50)),
            Step::Send(answer_text.into()),
        ];
        let faker = Faker::start(vec![script]).await;
        let patience =
            |options: &mut ProvidersOptions| options.attempts.silence = Some(Duration::from_millis(600));
        let got = answer(&*model_with(Wire::Chat, &faker, patience).await).await;
        assert_eq!(got, "text: hi\nstop: EndTurn", "{life:?}");
    }
}

#[tokio::test]
async fn local_servers_get_a_longer_silence_timeout_and_a_providers_setting_takes_precedence() {
    let seconds = Duration::from_secs;
    for (base, general, own, expected) in [
        ("https://llm.example.org", None, None, SILENCE),
        ("http://127.0.0.1:1", None, None, SILENCE_NEAR),
        ("http://127.0.0.1:1", Some(7), None, seconds(7)),
        ("https://llm.example.org", Some(7), Some(9), seconds(9)),
    ] {
        let mut options = options();
        options.attempts.silence = general.map(seconds);
        let own = VendorOptions { silence: own.map(seconds), ..vendor(base.to_owned(), Wire::Auto) };
        options.vendors.custom.insert("mine".to_owned(), own);
        let model = catalog(options).get("mine/m").await.unwrap();
        assert_eq!(model.info().limits.silence, Some(expected), "{base} {general:?}");
    }
    assert!(SILENCE_NEAR > SILENCE);
}

#[tokio::test]
async fn the_first_text_is_passed_on_before_the_answer_is_complete() {
    let first = "data: {\"choices\":[{\"delta\":{\"content\":\"first\"}}]}\n\n";
    let script = vec![Step::Send(CHUNKED.into()), Step::Chunk(first.into()), Step::Hang];
    let faker = Faker::start(vec![script]).await;
    let mut stream = model(Wire::Chat, &faker).await.stream(request("hi"));
    assert_eq!(stream.next().await.unwrap().unwrap(), ModelEvent::Text("first".into()));
}
