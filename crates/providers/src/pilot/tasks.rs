//! `add tasks A, B, C` and `make a plan: …`: notes tasks. Also keeps the task list of a prompt with
//! several steps, if requested.

use super::{
    limits,
    phrase::Phrase,
    progress::{Blocked, Call, Script},
    step::{Command, Outcome, ParsedStep, Step},
    verbs,
};
use serde_json::json;

/// The command.
pub(crate) const COMMAND: Command = Command {
    verbs: verbs::TASKS,
    form: "add tasks A, B, C (or: make a plan: A, B, C)",
    example: "add tasks 'write the parser', 'test it'",
    parse,
};

/// The plan tool in the list of tools. If it is offered, `task_create` and `task_update` can be
/// called too, although they are not listed; unlike it, they can add to a plan without knowing it.
pub(crate) const LISTED: &str = "update_plan";

/// Tasks to note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tasks {
    /// The subject of each task.
    pub(crate) subjects: Vec<String>,
}

fn parse(mut phrase: Phrase<'_>) -> Option<ParsedStep> {
    if !phrase.consume(&["add", "create", "note"]) {
        return None;
    }
    phrase.consume(&["a", "the", "these"]);
    phrase.consume(&["new"]);
    if phrase.consume(&["task", "todo"]) {
        return Some(read_one(phrase));
    }
    phrase.consume(&["tasks", "todos"]).then(|| read(phrase.parts()))
}

fn read_one(phrase: Phrase<'_>) -> ParsedStep {
    Ok(Box::new(Tasks { subjects: vec![phrase.literal()?] }))
}

/// Creates tasks from phrases, one each.
pub(crate) fn read(parts: Vec<Phrase<'_>>) -> ParsedStep {
    if parts.len() > limits::ITEMS {
        return Err(format!("more than {} tasks at once", limits::ITEMS));
    }
    let subjects = parts.into_iter().map(Phrase::subject).collect::<Result<Vec<_>, _>>()?;
    Ok(Box::new(Tasks { subjects }))
}

impl Step for Tasks {
    fn describe(&self) -> String {
        format!("note {} task(s)", self.subjects.len())
    }

    fn tools(&self) -> &'static [&'static str] {
        &[LISTED]
    }

    fn perform(&self, script: &mut Script<'_>) -> Result<Outcome, Blocked> {
        create(script, &self.subjects)?;
        let list = self.subjects.iter().map(|subject| format!("- {subject}")).collect::<Vec<_>>().join("\n");
        Ok(Outcome {
            line: format!("noted {} task(s)", self.subjects.len()),
            shown: Some(list),
            changed: Vec::new(),
        })
    }
}

/// Notes tasks and returns their ids; `None` if the tool returned no id.
pub(crate) fn create(script: &mut Script<'_>, subjects: &[String]) -> Result<Vec<Option<String>>, Blocked> {
    let call = |subject: &String| Call { name: "task_create", arguments: json!({ "subject": subject }) };
    let results = script.calls(subjects.iter().map(call).collect())?;
    if let Some(failed) = results.iter().find(|result| result.is_error) {
        return Err(Blocked::Failed(failed.text.trim().to_owned()));
    }
    Ok(results.iter().map(|result| id(&result.text)).collect())
}

/// Sets the status of tasks, all in one answer.
pub(crate) fn update(script: &mut Script<'_>, states: &[(Option<&String>, &str)]) -> Result<(), Blocked> {
    let known = states.iter().filter_map(|(id, status)| Some((id.as_ref()?, status)));
    let calls = known
        .map(|(id, status)| Call { name: "task_update", arguments: json!({ "id": id, "status": status }) });
    script.calls(calls.collect()).map(drop)
}

/// Parses the id in `Created task ID: SUBJECT`.
fn id(text: &str) -> Option<String> {
    let id = text.trim_start().strip_prefix("Created task ")?.split([':', ' ', '\n']).next()?;
    (!id.is_empty()).then(|| id.to_owned())
}
