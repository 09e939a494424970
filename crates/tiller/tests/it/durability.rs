//! The process is killed at random moments: everything acknowledged is present once and in order,
//! and nothing is run again.
//!
//! Sessions of 40 prompts run against the real program, which is killed while it starts, loads,
//! streams, runs a command or writes. Each run begins with a load, whose replay is compared with
//! everything that was reported before. There are 25 kills by default; `TILLER_KILLS` sets their
//! number and `TILLER_KILLS_SEED` the seed.

use crate::{
    agent::Agent,
    home::{Home, stdout},
    interface::model::Model,
};
use serde_json::{Value, json};
use std::{
    collections::HashSet,
    process::Stdio,
    time::{Duration, Instant},
};

const PROMPTS: usize = 40;
/// The longest run before a kill, in microseconds.
const LIFE: u64 = 250_000;

#[test]
fn acknowledged_work_survives_any_kill() {
    let number = |name: &str, default: u64| std::env::var(name).map_or(default, |text| text.parse().unwrap());
    let (kills, seed) = (number("TILLER_KILLS", 25), number("TILLER_KILLS_SEED", 7));
    let mut random = Random(seed | 1);
    let (mut killed, mut sessions, mut acknowledged) = (0, 0, 0);
    while killed < kills {
        let home = Home::new();
        let mut story = Story::new();
        while story.asked < PROMPTS && killed < kills {
            story.live(&home, Some(Duration::from_micros(random.below(LIFE))));
            killed += 1;
        }
        story.live(&home, None);
        sessions += 1;
        acknowledged += story.acknowledged.len();
    }
    println!("{killed} kills in {sessions} sessions, {acknowledged} acknowledged items");
}

/// A session from the view of its client.
struct Story {
    id: Option<String>,
    /// The number of prompts sent; a prompt is never sent twice.
    asked: usize,
    /// The items that every later replay must contain, in this order.
    acknowledged: Vec<String>,
    /// The last replay; the next one begins with it.
    played: Vec<String>,
}

impl Story {
    fn new() -> Self {
        Self { id: None, asked: 0, acknowledged: Vec::new(), played: Vec::new() }
    }

    /// One run of the program: starts it, replays the session and sends prompts until it is killed
    /// after `time`; without `time`, until the replay has been checked.
    fn live(&mut self, home: &Home, time: Option<Duration>) {
        let mut agent = Agent::start(home, &["--yolo"]);
        let end = Instant::now() + time.unwrap_or(Duration::from_secs(60));
        let turn = self.talk(&mut agent, home, end, time.is_some());
        let left = updates(agent.kill());
        // Of an interrupted turn, texts may be lost, but calls may not. A partial replay
        // acknowledges nothing new.
        if let Err(Some(mut report)) = turn {
            report.updates.extend(left);
            self.acknowledged
                .extend(items(&report.updates).into_iter().filter(|item| item.starts_with("call ")));
        }
    }

    /// The error holds the messages of the turn that was running when the time was up, if any.
    fn talk(
        &mut self,
        agent: &mut Agent,
        home: &Home,
        end: Instant,
        go_on: bool,
    ) -> Result<(), Option<TurnReport>> {
        let capabilities = json!({ "protocolVersion": 1, "clientCapabilities": {} });
        call(agent, "initialize", capabilities, end).map_err(|_| None)?;
        match self.id.clone() {
            None => {
                let new = json!({ "cwd": home.project(), "mcpServers": [] });
                let answer = call(agent, "session/new", new, end).map_err(|_| None)?.answer;
                self.id = Some(answer["sessionId"].as_str().unwrap().to_owned());
            }
            Some(id) => {
                let load = json!({ "sessionId": id, "cwd": home.project(), "mcpServers": [] });
                let report = call(agent, "session/load", load, end).map_err(|_| None)?;
                self.check(home, items(&report.updates));
            }
        }
        while go_on && self.asked < PROMPTS {
            let text = prompt(self.asked);
            self.asked += 1;
            let content = json!([{ "type": "text", "text": text }]);
            let prompt = json!({ "sessionId": self.id, "prompt": content });
            let report = call(agent, "session/prompt", prompt, end).map_err(Some)?;
            assert_eq!(report.answer["stopReason"], "end_turn", "{text}");
            self.acknowledged.push(format!("user {text}"));
            self.acknowledged.extend(items(&report.updates));
        }
        Ok(())
    }

    fn check(&mut self, home: &Home, played: Vec<String>) {
        assert!(
            played.starts_with(&self.played),
            "the past has changed:\n{:#?}\nwas\n{:#?}",
            played,
            self.played
        );
        let mut rest = played.iter();
        for item in &self.acknowledged {
            assert!(rest.any(|played| played == item), "lost or out of order: {item}\nin {played:#?}");
        }
        let mut once = HashSet::new();
        let twice: Vec<_> = played.iter().filter(|item| !once.insert(*item)).collect();
        assert!(twice.is_empty(), "told twice: {twice:?}");
        // Each command appends its own number to the file: a duplicate is a call that was run
        // again.
        let mut ran = HashSet::new();
        for number in home.read("ran").unwrap_or_default().lines() {
            assert!(ran.insert(number.to_owned()), "{number} was run again");
        }
        for n in (0..self.asked).filter(|n| n % 4 == 0) {
            let answered = self.acknowledged.contains(&format!("user {}", prompt(n)));
            assert!(!answered || ran.contains(&n.to_string()), "{n} was answered and never ran");
        }
        self.played = played;
    }
}

fn prompt(n: usize) -> String {
    match n % 4 {
        0 => format!("run echo {n} >> ran"),
        1 => format!("create f{n}.txt with 'text {n}'"),
        2 => format!("list files in . then run true {n}"),
        _ => format!("hello number {n}"),
    }
}

/// The agent's messages up to its response, or up to the end of its time.
#[derive(Default)]
struct TurnReport {
    updates: Vec<Value>,
    answer: Value,
}

fn call(agent: &mut Agent, method: &str, params: Value, end: Instant) -> Result<TurnReport, TurnReport> {
    let id = agent.post(method, params);
    let mut report = TurnReport::default();
    while let Ok(mut message) = agent.receive_before(end) {
        if message["id"] == id {
            assert!(message.get("error").is_none(), "{method}: {message}");
            report.answer = message["result"].take();
            return Ok(report);
        }
        report.updates.extend(updates(vec![message]));
    }
    Err(report)
}

fn updates(messages: Vec<Value>) -> Vec<Value> {
    messages
        .into_iter()
        .filter_map(|mut message| Some(message.pointer_mut("/params/update")?.take()))
        .collect()
}

/// The reported items in order: joined texts, and each status of each call.
fn items(updates: &[Value]) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    let mut last = None;
    for update in updates {
        let text = update.pointer("/content/text").and_then(Value::as_str).unwrap_or_default();
        let id = update["messageId"].as_str().map(str::to_owned);
        match update["sessionUpdate"].as_str().unwrap() {
            "user_message_chunk" => items.push(format!("user {text}")),
            "agent_message_chunk" if last.is_some() && last == id => items.last_mut().unwrap().push_str(text),
            "agent_message_chunk" => items.push(format!("agent {} {text}", id.as_deref().unwrap())),
            "tool_call" | "tool_call_update" if update["status"].is_string() => {
                items.push(format!("call {} {}", update["toolCallId"], update["status"]));
            }
            _ => continue,
        }
        last = id;
    }
    items
}

/// A small random number generator (xorshift); the seed reproduces a run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// An answer that was on the screen when its process was killed is in the session, marked as cut.
#[test]
fn an_answer_that_streams_survives_a_kill() {
    let model = Model::start();
    let home = model.home();
    let mut command = home.tiller(&["-p", "tell"]);
    let mut first = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut answer = model.next();
    answer.text("Once upon");
    let began = Instant::now();
    let listed: Value = serde_json::from_slice(&home.run(&["sessions", "list", "--jsonl"]).stdout).unwrap();
    let session = listed["session_id"].as_str().unwrap();
    let export = || stdout(&home.run(&["sessions", "export", session]));
    while !export().contains("answer_part") {
        assert!(began.elapsed() < Duration::from_secs(30), "no part was stored: {}", export());
    }
    first.kill().unwrap();
    first.wait().unwrap();
    let cut = "Once upon\n\n[cut off here: the process ended]";
    let shown = stdout(&home.run(&["sessions", "export", session, "--format", "markdown"]));
    assert!(shown.contains(cut), "before it is opened: {shown}");

    let mut command = home.tiller(&["-c", "-p", "go on"]);
    let mut second =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let answer = model.next();
    let sent = answer.request["messages"].as_array().unwrap().iter();
    let sent: Vec<_> = sent.filter(|message| message["role"] == "assistant").collect();
    assert_eq!(sent.len(), 1, "{sent:?}");
    assert_eq!(sent[0]["content"], cut);
    answer.say("a time");
    assert!(second.wait().unwrap().success());
    let shown = stdout(&home.run(&["sessions", "show", session]));
    assert_eq!(shown.matches(cut).count(), 1, "{shown}");
}
