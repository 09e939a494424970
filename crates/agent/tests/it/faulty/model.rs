//! A model that fails.

use super::{Fault, Victim, plan_of};
use agent::fake::{check_request, said as said_in};
use agent::{
    Content, LanguageModel, Message, ModelError, ModelEvent, ModelInfo, ModelLimits, ModelRequest, ModelStop,
    Models,
};
use async_trait::async_trait;
use futures::{StreamExt as _, stream::BoxStream};
use serde_json::json;
use std::sync::Arc;

/// The model's script: a function of the number in the prompt `go NUMBER` and the number of answers
/// since that prompt.
pub(crate) type ModelScript = fn(&str, usize) -> Vec<ModelEvent>;

pub(crate) fn call(id: &str, name: &str, arguments: serde_json::Value) -> ModelEvent {
    ModelEvent::call(id, name, &arguments)
}

/// Reads, writes, runs a command and ends with a text.
pub(crate) fn short_turn(_: &str, said: usize) -> Vec<ModelEvent> {
    let id = format!("p{said}");
    let call = match said {
        0 => call(&id, "file_read", json!({"path": "a.txt"})),
        1 => call(&id, "file_write", json!({"path": "new.txt", "content": "new"})),
        2 => call(&id, "bash", json!({"command": "cargo test"})),
        _ => return vec![ModelEvent::Text("done".to_owned()), ModelEvent::Stop(ModelStop::EndTurn)],
    };
    vec![call, ModelEvent::Stop(ModelStop::ToolCalls)]
}

/// A model that continues from the state of the conversation, and fails for one session or for all.
/// It rejects conversations that no provider would accept.
#[derive(Clone)]
pub(crate) struct FaultyModel {
    pub(crate) info: ModelInfo,
    pub(crate) script: ModelScript,
    pub(crate) victim: Arc<Victim>,
}

impl FaultyModel {
    pub(crate) fn new(script: ModelScript) -> Self {
        let info = ModelInfo {
            id: "fake/model".to_owned(),
            name: "Fake".to_owned(),
            description: None,
            limits: ModelLimits { context_size: 40_000, max_output: 4_096, silence: None },
            disclosure: None,
            ..ModelInfo::default()
        };
        Self { info, script, victim: Arc::default() }
    }

    fn events(&self, request: &ModelRequest) -> Vec<ModelEvent> {
        if request.tools.is_empty() {
            let summary = ModelEvent::Text("The goal was to go on.".to_owned());
            return vec![summary, ModelEvent::Stop(ModelStop::EndTurn)];
        }
        let mut said = 0;
        for message in request.messages.iter().rev() {
            match message {
                Message::Assistant(_) => said += 1,
                Message::User(content) => {
                    let Some(Content::Text(text)) = said_in(content).first() else { continue };
                    if let Some(number) = text.strip_prefix("go") {
                        let number = number.split_whitespace().next().unwrap_or_default();
                        return (self.script)(number, said);
                    }
                }
            }
        }
        vec![ModelEvent::Text("Yes?".to_owned()), ModelEvent::Stop(ModelStop::EndTurn)]
    }
}

impl LanguageModel for FaultyModel {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        check_request(&request);
        let plan = plan_of(&self.victim, request.cache_key.as_deref());
        let failing = move |event| {
            let plan = plan.clone();
            async move {
                let error = || Err(ModelError::Transport("as the test wanted".to_owned()));
                let fault = match plan {
                    Some(plan) => plan.step().await,
                    None => None,
                };
                futures::stream::iter(match fault {
                    None => vec![Ok(event)],
                    Some(Fault::Late) => vec![Ok(event), error()],
                    Some(_) => vec![error()],
                })
            }
        };
        futures::stream::iter(self.events(&request)).then(failing).flatten().boxed()
    }
}

#[async_trait]
impl Models for FaultyModel {
    fn list(&self) -> Vec<ModelInfo> {
        vec![self.info.clone()]
    }

    async fn default_id(&self) -> String {
        self.info.id.clone()
    }

    async fn get(&self, _id: &str) -> Result<Arc<dyn LanguageModel>, ModelError> {
        let model: Arc<dyn LanguageModel> = Arc::new(self.clone());
        match plan_of(&self.victim, None) {
            Some(plan) => {
                let gone = || ModelError::Transport("as the test wanted".to_owned());
                plan.through(async { Ok(model) }, gone).await
            }
            None => Ok(model),
        }
    }
}
