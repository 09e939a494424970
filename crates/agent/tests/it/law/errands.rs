//! The subagents of a script: how they are requested, and what their models answer.

use super::model::{Events, call, says};
use super::script::{Call, Errand};
use agent::{Content, Message, ModelError, ModelEvent, ModelRequest, ModelStop};
use serde_json::{Value, json};

/// The beginning of a task, before the name of the errand.
const TASK: &str = "Errand: ";

/// What the model of a subagent does.
pub(super) enum Done {
    /// Its events, and whether the user cancels after them.
    Events(Events, bool),
    Nothing,
}

/// Returns the arguments of a call that requests subagents.
pub(super) fn request(errand: Errand, background: bool) -> Value {
    let mode = if background { "background" } else { "await" };
    let task = |errand: Errand| format!("{TASK}{errand:?}");
    match errand {
        Errand::First => json!({ "mode": mode, "agents": [
            { "task": task(Errand::Answers), "type": "plan", "id": "first", "group": "g" },
            { "task": task(Errand::Answers), "depends_on": ["first"], "group": "g" },
        ]}),
        Errand::Delegates => json!({ "mode": mode, "type": "general", "task": task(errand) }),
        // The first one that was requested without an id.
        Errand::Resumed => json!({ "mode": mode, "resume": "explore-1" }),
        _ => json!({ "mode": mode, "task": task(errand) }),
    }
}

/// Returns what the model of a subagent does; `None` if the request is none of a subagent.
pub(super) fn of(request: &ModelRequest) -> Option<Done> {
    let errand = request.messages.iter().find_map(|message| {
        let Message::User(content) = message else { return None };
        let task = content.iter().find_map(|piece| match piece {
            Content::Text(text) if text.starts_with("You are a subagent") => text.split_once(TASK),
            _ => None,
        });
        let name = task?.1;
        Errand::ALL.into_iter().find(|errand| name.starts_with(&format!("{errand:?}")))
    })?;
    let answers = request.messages.iter().filter(|message| matches!(message, Message::Assistant(_))).count();
    Some(match (errand, answers) {
        (Errand::Reads, 0) => calls(Call::Read),
        (Errand::Delegates, 0) => calls(Call::Delegate(Errand::Reads, false)),
        (Errand::Retries, _) if !has_failed(request) => broken(ModelError::Overloaded("busy".to_owned())),
        (Errand::Fails, _) => broken(ModelError::Auth("no key".to_owned())),
        (Errand::Cancelled, 0) => Done::Events(says("so far", None), true),
        (Errand::Silent, _) => Done::Nothing,
        _ => Done::Events(says(&format!("Result {answers}."), Some(50)), false),
    })
}

fn calls(made: Call) -> Done {
    Done::Events(vec![Ok(call(0, made)), Ok(ModelEvent::Stop(ModelStop::ToolCalls))], false)
}

fn broken(error: ModelError) -> Done {
    Done::Events(vec![Err(error)], false)
}

/// Whether the subagent goes on after a failure, or because it was resumed.
fn has_failed(request: &ModelRequest) -> bool {
    request.messages.iter().filter(|message| matches!(message, Message::User(_))).count() > 1
}
