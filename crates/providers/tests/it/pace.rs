//! Bursts are cheap and the first text is not held back.

use crate::{
    faker::{CHUNKED, Faker, Step},
    support::{answer, model, request},
};
use agent::ModelEvent;
use futures::StreamExt;
use providers::Wire;

#[tokio::test]
async fn five_thousand_events_in_a_burst() {
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
async fn the_first_text_comes_while_the_rest_is_still_to_come() {
    let first = "data: {\"choices\":[{\"delta\":{\"content\":\"first\"}}]}\n\n";
    let script = vec![Step::Send(CHUNKED.into()), Step::Chunk(first.into()), Step::Hang];
    let faker = Faker::start(vec![script]).await;
    let mut stream = model(Wire::Chat, &faker).await.stream(request("hi"));
    assert_eq!(stream.next().await.unwrap().unwrap(), ModelEvent::Text("first".into()));
}
