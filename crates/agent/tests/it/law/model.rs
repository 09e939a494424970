//! A model that plays a script, including the user who sends messages and cancels while the model
//! answers.

use super::errands;
use super::script::{Answer, Call, Course, Meanwhile, Step, Summary};
use agent::{
    Content, LanguageModel, ModelCall, ModelError, ModelEvent, ModelInfo, ModelLimits, ModelRequest,
    ModelStop, Models, Prompt, Reasoning, SessionHandle, Usage,
};
use async_trait::async_trait;
use futures::{StreamExt as _, stream::BoxStream};
use serde_json::json;
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::task::JoinHandle;

/// The remaining steps of a script's models, and the requests so far.
#[derive(Default)]
pub(super) struct Play {
    steps: VecDeque<Step>,
    summaries: VecDeque<Summary>,
    /// The session of the user.
    session: Option<SessionHandle>,
    /// Messages that were sent while the model answered.
    pub(super) said: Vec<Prompt>,
    /// Settings that were changed while the model answered.
    pub(super) set: Vec<JoinHandle<()>>,
    pub(super) requests: Vec<ModelRequest>,
}

impl Play {
    pub(super) fn begin(&mut self, session: &SessionHandle, course: &Course) {
        self.steps = course.steps.clone().into();
        self.summaries = course.summaries.clone().into();
        self.session = Some(session.clone());
    }

    fn do_meanwhile(&mut self, meanwhile: Option<Meanwhile>) {
        let (Some(meanwhile), Some(session)) = (meanwhile, self.session.clone()) else { return };
        match meanwhile {
            Meanwhile::Steer(text) => self.said.push(session.steer(vec![Content::text(text)])),
            Meanwhile::Queue => self.said.push(session.start(vec![Content::text("queued")])),
            Meanwhile::Mode(mode) => self.set.push(tokio::spawn(async move {
                // A failing store is part of the script.
                let _ = session.set_mode(mode).await;
            })),
            Meanwhile::Effort(effort) => self.set.push(tokio::spawn(async move {
                let _ = session.set_effort(Some(effort)).await;
            })),
        }
    }
}

/// One of a script's models.
pub(super) struct Actor {
    pub(super) info: ModelInfo,
    pub(super) play: Arc<Mutex<Play>>,
}

pub(super) type Events = Vec<Result<ModelEvent, ModelError>>;

impl LanguageModel for Actor {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let mut play = self.play.lock().unwrap();
        let summing = request.system.starts_with("You sum up");
        let sampling = request.system == "sample";
        let errand = errands::of(&request);
        play.requests.push(request);
        let (events, cancelled) = if let Some(errand) = errand {
            match errand {
                errands::Done::Events(events, cancelled) => (events, cancelled),
                errands::Done::Nothing => return futures::stream::pending().boxed(),
            }
        } else if sampling {
            (says("Sampled.", Some(7)), false)
        } else if summing {
            summary(play.summaries.pop_front().unwrap_or(Summary::Whole))
        } else {
            let step = play.steps.pop_front();
            let step = step.unwrap_or(Step { meanwhile: None, answer: Answer::Says(1, true) });
            play.do_meanwhile(step.meanwhile);
            answer(step.answer)
        };
        let session = play.session.clone().filter(|_| cancelled);
        let then = futures::stream::once(async move {
            if let Some(session) = session {
                session.cancel();
                std::future::pending::<()>().await;
            }
            Ok(ModelEvent::Stop(ModelStop::EndTurn))
        });
        let paced = futures::stream::iter(events).then(|event| async move {
            if matches!(event, Ok(ModelEvent::Alive)) {
                tokio::time::advance(Duration::from_millis(1_500)).await;
            }
            event
        });
        paced.chain(then).boxed()
    }
}

fn text(tokens: usize) -> String {
    format!("said {}", "word".repeat(tokens))
}

fn usage(input: u64) -> Result<ModelEvent, ModelError> {
    Ok(ModelEvent::Usage(Usage { input, output: 5, ..Usage::default() }))
}

pub(super) fn says(text: &str, counted: Option<u64>) -> Events {
    let mut events = vec![Ok(ModelEvent::Text(text.to_owned()))];
    events.extend(counted.map(usage));
    events
}

/// Returns a summary's events, and whether the user cancels after them.
fn summary(summary: Summary) -> (Events, bool) {
    match summary {
        Summary::Whole => (says("## Goal\nTo go on.", Some(900)), false),
        Summary::Empty => (vec![usage(800)], false),
        Summary::Breaks => (vec![usage(700), Err(ModelError::Overloaded("busy".to_owned()))], false),
        Summary::Cancelled => (says("## Go", Some(600)), true),
    }
}

/// Returns an answer's events, and whether the user cancels after them.
fn answer(answer: Answer) -> (Events, bool) {
    let broken = || Err(ModelError::Transport("cut".to_owned()));
    let reasoning = || {
        let reasoning = Reasoning { text: "Hm.".to_owned(), opaque: Some("{\"s\":1}".to_owned()) };
        Ok(ModelEvent::ReasoningDone(reasoning))
    };
    let events = match answer {
        Answer::Says(tokens, counted) => says(&text(tokens), counted.then_some(4_000 + tokens as u64)),
        Answer::Calls(calls, counted) => {
            let mut events: Events =
                calls.into_iter().enumerate().map(|(at, made)| Ok(call(at, made))).collect();
            events.extend(counted.then(|| usage(4_500)));
            events.push(Ok(ModelEvent::Stop(ModelStop::ToolCalls)));
            events
        }
        Answer::CutOff => {
            let stop = Ok(ModelEvent::Stop(ModelStop::MaxTokens));
            vec![reasoning(), Ok(ModelEvent::Text("cut".to_owned())), usage(3_000), stop]
        }
        Answer::Nothing => Vec::new(),
        Answer::Retries => {
            let (attempt, after, reason) = (1, Duration::from_secs(1), "busy".to_owned());
            let mut events = vec![Ok(ModelEvent::Retrying { attempt, after, reason, limited: false })];
            events.extend(says("at last", None));
            events
        }
        Answer::Slow => {
            let piece = |text: &str| Ok(ModelEvent::Text(text.to_owned()));
            // Each pause is long enough that the answer so far is stored.
            vec![piece("at "), Ok(ModelEvent::Alive), piece("length"), Ok(ModelEvent::Alive)]
        }
        Answer::Breaks => {
            vec![Ok(ModelEvent::Reasoning("Hm".to_owned())), Ok(call(0, Call::Read)), usage(10), broken()]
        }
        Answer::Overflows => vec![Err(ModelError::ContextOverflow("too long".to_owned()))],
        Answer::Cancelled => {
            return (vec![Ok(ModelEvent::Text("so far".to_owned())), Ok(call(0, Call::Read))], true);
        }
    };
    (events, false)
}

pub(super) fn call(at: usize, call: Call) -> ModelEvent {
    let (name, arguments) = match call {
        Call::Read => ("file_read", json!({ "path": "a.txt" }).to_string()),
        Call::ReadLong => ("file_read", json!({ "path": "long.txt" }).to_string()),
        Call::ReadMissing => ("file_read", json!({ "path": "missing.txt" }).to_string()),
        Call::Write => {
            ("file_write", json!({ "path": format!("new-{at}.txt"), "content": "new\n" }).to_string())
        }
        Call::Command => ("bash", json!({ "command": "cargo test" }).to_string()),
        Call::Sample => ("ask_model", String::new()),
        Call::Plan => {
            let step = json!({ "step": format!("step {at}"), "status": "pending" });
            ("update_plan", json!({ "plan": [step, { "step": "all", "status": "completed" }] }).to_string())
        }
        Call::EndGoal => ("update_goal", json!({ "status": "complete" }).to_string()),
        Call::Unknown => ("no_such_tool", r#"{ "x": 1.0e-1 }"#.to_owned()),
        Call::Malformed => ("file_read", "{".to_owned()),
        Call::Delegate(errand, background) => ("subagent", errands::request(errand, background).to_string()),
    };
    ModelEvent::ToolCall(ModelCall {
        provider_id: format!("call_{at}"),
        name: name.to_owned(),
        arguments,
        opaque: Some(format!("{{\"at\":{at}}}")),
    })
}

/// The two available models.
pub(super) struct Cast(pub(super) [Arc<Actor>; 2]);

impl Cast {
    pub(super) fn new(play: &Arc<Mutex<Play>>) -> Self {
        let actor = |id: &str, context_size, disclosure: Option<&str>| {
            let info = ModelInfo {
                id: id.to_owned(),
                name: id.to_owned(),
                description: None,
                limits: ModelLimits { context_size, max_output: 4_096, silence: None },
                disclosure: disclosure.map(str::to_owned),
                ..ModelInfo::default()
            };
            Arc::new(Actor { info, play: play.clone() })
        };
        Self([actor("fake/model", 12_000, None), actor("fake/other", 14_000, Some("No language model."))])
    }
}

#[async_trait]
impl Models for Cast {
    fn list(&self) -> Vec<ModelInfo> {
        self.0.iter().map(|actor| actor.info.clone()).collect()
    }

    async fn default_id(&self) -> String {
        self.0[0].info.id.clone()
    }

    async fn get(&self, id: &str) -> Result<Arc<dyn LanguageModel>, ModelError> {
        match self.0.iter().find(|actor| actor.info.id == id) {
            Some(actor) => Ok(actor.clone()),
            None => Err(ModelError::NotConfigured(format!("no model {id}"))),
        }
    }
}
