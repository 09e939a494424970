//! `add tasks A, B, C` and `make a plan: …`: notes tasks; and the plan that a prompt of several steps keeps when it is asked to.

use super::{
    limits,
    phrase::Phrase,
    progress::{Call, Pause, Script},
    step::{Command, Outcome, Step},
};
use serde_json::json;

/// The command.
pub(crate) const COMMAND: Command = Command {
    verbs: &["plan", "task", "tasks", "todo", "add"],
    form: "add tasks A, B, C (or: make a plan: A, B, C)",
    example: "add tasks 'write the parser', 'test it'",
    parse,
};

/// The tool of the plan that models are told of. Where it is, `task_create` and `task_update` can be
/// called too: they add to a plan that may be there already and need not know it.
pub(crate) const LISTED: &str = "update_plan";

/// Tasks to note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tasks {
    /// What each is about.
    pub(crate) subjects: Vec<String>,
}

fn parse(mut phrase: Phrase<'_>) -> Option<Result<Step, String>> {
    if !phrase.eat(&["add", "create", "note"]) {
        return None;
    }
    phrase.eat(&["a", "the", "these"]);
    phrase.eat(&["new"]);
    if phrase.eat(&["task", "todo"]) {
        return Some(phrase.literal().map(|subject| Step::Tasks(Tasks { subjects: vec![subject] })));
    }
    phrase.eat(&["tasks", "todos"]).then(|| read(phrase.parts()))
}

/// Tasks from phrases, one each.
pub(crate) fn read(parts: Vec<Phrase<'_>>) -> Result<Step, String> {
    if parts.len() > limits::ITEMS {
        return Err(format!("more than {} tasks at once", limits::ITEMS));
    }
    let subjects = parts.into_iter().map(Phrase::subject).collect::<Result<Vec<_>, _>>()?;
    Ok(Step::Tasks(Tasks { subjects }))
}

impl Tasks {
    pub(crate) fn perform(&self, script: &mut Script<'_>) -> Result<Outcome, Pause> {
        create(script, &self.subjects)?;
        let list = self.subjects.iter().map(|subject| format!("- {subject}")).collect::<Vec<_>>().join("\n");
        Ok(Outcome {
            line: format!("noted {} task(s)", self.subjects.len()),
            shown: Some(list),
            changed: Vec::new(),
        })
    }
}

/// Notes tasks; their ids, `None` where the tool told none.
pub(crate) fn create(script: &mut Script<'_>, subjects: &[String]) -> Result<Vec<Option<String>>, Pause> {
    let call = |subject: &String| Call { name: "task_create", arguments: json!({ "subject": subject }) };
    let results = script.calls(subjects.iter().map(call).collect())?;
    if let Some(failed) = results.iter().find(|result| result.is_error) {
        return Err(Pause::Failed(failed.text.trim().to_owned()));
    }
    Ok(results.iter().map(|result| id(&result.text)).collect())
}

/// Sets the states of tasks, all in one answer.
pub(crate) fn update(script: &mut Script<'_>, states: &[(Option<&String>, &str)]) -> Result<(), Pause> {
    let known = states.iter().filter_map(|(id, status)| Some((id.as_ref()?, status)));
    let calls = known
        .map(|(id, status)| Call { name: "task_update", arguments: json!({ "id": id, "status": status }) });
    script.calls(calls.collect()).map(drop)
}

/// The id in `Created task ID: SUBJECT`.
fn id(text: &str) -> Option<String> {
    let id = text.trim_start().strip_prefix("Created task ")?.split([':', ' ', '\n']).next()?;
    (!id.is_empty()).then(|| id.to_owned())
}
