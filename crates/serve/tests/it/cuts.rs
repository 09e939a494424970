//! Sockets that are cut or fall silent: every message arrives exactly once and in order.

use crate::{
    application::Scripted,
    proxy::{Break, Counts, Direction, Proxy},
    tokens::MemoryTokens,
};
use serde_json::{Value, json};
use serve::{
    ServeOptions,
    connect::{ConnectError, ConnectOptions},
};
use std::{sync::Arc, time::Duration};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines},
    task::JoinHandle,
};

const DIRECTIONS: [Direction; 2] = [Direction::ToServer, Direction::ToClient];

/// A client behind the bridge, and the server that it talks to.
struct Client {
    application: Arc<Scripted>,
    counts: Arc<Counts>,
    writer: Option<DuplexStream>,
    reader: Lines<BufReader<DuplexStream>>,
    bridge: JoinHandle<Result<(), ConnectError>>,
    /// The messages that it received.
    received: Vec<Value>,
}

/// What one conversation did on both sides.
#[derive(Debug, PartialEq)]
struct Outcome {
    to_application: Vec<Value>,
    to_client: Vec<Value>,
}

impl Client {
    fn new(plan: impl FnMut() -> Option<Break> + Send + 'static) -> Self {
        let application = Arc::new(Scripted::default());
        let server = application.server(Arc::new(MemoryTokens::default()), ServeOptions::default());
        let proxy = Proxy::new(Arc::new(server), plan);
        let counts = proxy.counts.clone();
        let (writer, from_client) = tokio::io::duplex(64 * 1024);
        let (to_client, reader) = tokio::io::duplex(64 * 1024);
        let options = ConnectOptions {
            dial: proxy,
            host: "localhost".to_owned(),
            path: "/acp".to_owned(),
            authorization: Arc::new(|| None),
            give_up: Duration::from_secs(600),
        };
        let bridge = tokio::spawn(serve::connect::connect(options, from_client, to_client));
        let reader = BufReader::new(reader).lines();
        Self { application, counts, writer: Some(writer), reader, bridge, received: Vec::new() }
    }

    async fn send(&mut self, message: Value) {
        let line = format!("{message}\n");
        self.writer.as_mut().unwrap().write_all(line.as_bytes()).await.unwrap();
    }

    async fn request(&mut self, id: u64, method: &str, params: Value) {
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
    }

    /// Receives messages up to the one with this id.
    async fn until(&mut self, id: Value) {
        while let Some(line) = self.reader.next_line().await.unwrap() {
            let message: Value = serde_json::from_str(&line).unwrap();
            let found = message["id"] == id;
            self.received.push(message);
            if found {
                return;
            }
        }
        panic!("the bridge ended before it passed {id} on: {:?}", self.received);
    }

    /// Ends the input, and takes what still comes.
    async fn finish(mut self) -> Outcome {
        drop(self.writer.take());
        while let Some(line) = self.reader.next_line().await.unwrap() {
            self.received.push(serde_json::from_str(&line).unwrap());
        }
        self.bridge.await.unwrap().unwrap();
        Outcome { to_application: self.application.received(), to_client: self.received }
    }
}

/// The conversation that is cut: responses, a stream, and a request of the server that stays open
/// until acknowledgements were exchanged.
async fn converse(mut client: Client) -> Outcome {
    client.request(1, "initialize", json!({})).await;
    client.until(json!(1)).await;
    client.request(2, "echo", json!({ "text": "ä" })).await;
    client.request(3, "stream", json!({ "sessionId": "s", "count": 5 })).await;
    client.until(json!(3)).await;
    client.request(4, "ask", json!({ "sessionId": "s" })).await;
    client.until(json!("ask-4")).await;
    let early = tokio::time::timeout(Duration::from_secs(6), client.reader.next_line()).await;
    assert!(early.is_err(), "the server waits for the answer: {early:?}");
    client.send(json!({ "jsonrpc": "2.0", "id": "ask-4", "result": "yes" })).await;
    client.until(json!(4)).await;
    client.finish().await
}

/// Plans a break of the first socket only.
fn first(planned: Break) -> impl FnMut() -> Option<Break> + Send + 'static {
    let mut planned = Some(planned);
    move || planned.take()
}

#[tokio::test(start_paused = true)]
async fn a_cut_after_any_byte_loses_and_repeats_nothing() {
    let client = Client::new(|| None);
    let counts = client.counts.clone();
    let expected = converse(client).await;
    assert_eq!(counts.dials(), 1);
    let updates = expected.to_client.iter().filter_map(|message| message["params"]["n"].as_u64());
    assert_eq!(updates.collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    let mut cuts = 0;
    for direction in DIRECTIONS {
        let bytes = counts.bytes(direction);
        for bytes in 0..bytes {
            let client = Client::new(first(Break { direction, bytes, closes: true }));
            let counts = client.counts.clone();
            let outcome = tokio::time::timeout(Duration::from_secs(3600), converse(client)).await;
            let outcome = outcome.unwrap_or_else(|_| panic!("a cut {direction:?} after {bytes} bytes hangs"));
            assert_eq!(outcome, expected, "a cut {direction:?} after {bytes} bytes");
            assert_eq!(counts.breaks(), 1, "{direction:?} {bytes}");
            cuts += 1;
        }
    }
    assert!(cuts > 1_000, "only {cuts} cuts");
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_falls_silent_after_any_message_is_left_and_the_connection_goes_on() {
    let client = Client::new(|| None);
    let counts = client.counts.clone();
    let expected = converse(client).await;
    for direction in DIRECTIONS {
        for bytes in (0..counts.bytes(direction)).step_by(7) {
            let client = Client::new(first(Break { direction, bytes, closes: false }));
            let counts = client.counts.clone();
            let begun = tokio::time::Instant::now();
            let outcome = converse(client).await;
            assert_eq!(outcome, expected, "silence {direction:?} after {bytes} bytes");
            assert_eq!(counts.breaks(), 1, "{direction:?} {bytes}");
            assert!(begun.elapsed() < Duration::from_secs(70), "{:?}", begun.elapsed());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_cut_after_the_end_of_the_input_repeats_no_request_and_leaves_none_unanswered() {
    let early = async |mut client: Client| {
        client.request(1, "initialize", json!({})).await;
        client.until(json!(1)).await;
        client.request(2, "stream", json!({ "sessionId": "s", "count": 5 })).await;
        client.finish().await
    };
    let client = Client::new(|| None);
    let counts = client.counts.clone();
    let expected = early(client).await;
    let mut lost = 0;
    for direction in DIRECTIONS {
        for bytes in 0..counts.bytes(direction) {
            let mut outcome = early(Client::new(first(Break { direction, bytes, closes: true }))).await;
            let what = format!("a cut {direction:?} after {bytes} bytes");
            assert_eq!(outcome.to_application, expected.to_application, "{what}");
            let answer = outcome.to_client.pop().unwrap();
            assert_eq!(answer["id"], 2, "{what}");
            let is_lost = !answer["error"].is_null();
            assert!(is_lost || outcome.to_client.len() == 6, "{what}: an answer without what is before it");
            assert!(expected.to_client.starts_with(&outcome.to_client), "{what}: {:?}", outcome.to_client);
            lost += u32::from(is_lost);
        }
    }
    assert!(lost > 0, "no cut was between the end of the input and the answer");
}

#[tokio::test(start_paused = true)]
async fn a_hundred_random_cuts_of_one_connection_lose_and_repeat_nothing() {
    let seed = std::env::var("TILLER_CUTS_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| getrandom::u64().unwrap());
    println!("TILLER_CUTS_SEED={seed}");
    let mut random = Random(seed | 1);
    let mut client = Client::new(move || {
        let direction = DIRECTIONS[random.below(2)];
        Some(Break { direction, bytes: random.below(4_000), closes: random.below(10) > 0 })
    });
    client.request(0, "initialize", json!({})).await;
    client.until(json!(0)).await;
    let (mut id, mut sent) = (1, 0);
    while client.counts.breaks() < 100 {
        client
            .request(id, "stream", json!({ "sessionId": "s", "from": sent + 1, "count": 20, "size": 50 }))
            .await;
        client.request(id + 1, "ask", json!({ "sessionId": "s" })).await;
        let asked = format!("ask-{}", id + 1);
        client.until(json!(asked)).await;
        client.send(json!({ "jsonrpc": "2.0", "id": asked, "result": id })).await;
        client.until(json!(id + 1)).await;
        (id, sent) = (id + 2, sent + 20);
    }
    assert_eq!(client.application.presence().len(), 1, "there was one connection");
    let updates: Vec<_> =
        client.received.iter().filter_map(|message| message["params"]["n"].as_u64()).collect();
    assert_eq!(updates, (1..=sent).collect::<Vec<_>>());
    let ids = |messages: &[Value], asks: bool| -> Vec<String> {
        let chosen = messages.iter().filter(|message| message["method"].is_null() != asks);
        chosen.map(|message| message["id"].to_string()).filter(|id| id != "null").collect()
    };
    let requests: Vec<_> = (0..id).map(|id| id.to_string()).collect();
    let received = client.application.received();
    assert_eq!(ids(&received, true), requests, "every request was executed once");
    assert_eq!(ids(&client.received, false), requests, "every request was answered once");
    let asks: Vec<_> = (2..id).step_by(2).map(|id| format!("\"ask-{id}\"")).collect();
    assert_eq!(ids(&client.received, true), asks, "every question was asked once");
    assert_eq!(ids(&received, false), asks, "every answer arrived once");
}

/// Numbers that look random, the same for each seed (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(limit).unwrap()).unwrap()
    }
}
