//! The model of a swarm: 24 subagents in two levels below the session. Each runs one command, which
//! appends the subagent's id to a file. What was interrupted is resumed and does not repeat its
//! command.

use crate::faults::prompt::{Extra, done};
use serde_json::{Value, json};

/// The beginning of a subagent's task, before its id.
const ASSIGNMENT: &str = "Your assignment is ";
/// The beginning of an id in the hint to resume a subagent.
const RESUME: &str = "resume: \"";
/// The words with which a subagent goes on that was interrupted, or whose model failed.
const GOES_ON: &str = "where you stopped";
/// The subagents of each lead.
const MEMBERS: u64 = 5;

/// What the model does next.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::faults) enum Step {
    Calls(&'static str, Value),
    Says(String),
    /// The answer breaks off, which is worth another attempt.
    Breaks,
    /// The server refuses the request, which is not.
    Refused,
}

/// Returns the answer of a subagent whose command has run.
pub(in crate::faults) fn answer(id: &str) -> String {
    format!("{id} has run its command")
}

/// Returns the subagent that a conversation belongs to; `None` for the session itself.
pub(in crate::faults) fn agent(messages: &[Value]) -> Option<String> {
    let rest = users(messages).find_map(|text| Some(text.split_once(ASSIGNMENT)?.1.to_owned()))?;
    Some(rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '-').collect())
}

/// Returns what the session does after the prompt that `messages` begin with; `all` is the whole
/// conversation.
pub(in crate::faults) fn of_session(all: &[Value], messages: &[Value], number: u64, extra: Extra) -> Step {
    if let Some(step) = resumed(all) {
        return step;
    }
    let requests = calls(messages).filter(|(name, args)| name == "subagent" && !is_resume(args)).count();
    match (extra, requests) {
        (Extra::Swarm, 0) => {
            let own = ["back1", "back2", "back3", "retries"].map(|name| new(&format!("{number}-{name}")));
            Step::Calls("subagent", json!({ "mode": "background", "agents": own }))
        }
        (Extra::Swarm, 1) => {
            let mut own =
                ["lead1", "lead2", "lead3", "fails"].map(|name| new(&format!("{number}-{name}"))).to_vec();
            let mut after = new(&format!("{number}-after"));
            after["depends_on"] = json!([format!("{number}-lead1"), format!("{number}-fails")]);
            own.push(after);
            Step::Calls("subagent", json!({ "agents": own }))
        }
        _ => Step::Says(done(number)),
    }
}

/// Returns what a subagent does next.
pub(in crate::faults) fn of_agent(messages: &[Value], id: &str) -> Step {
    let name = id.rsplit('-').next().unwrap_or_default();
    let called = |tool: &str| calls(messages).any(|(name, args)| name == tool && !is_resume(&args));
    match name {
        "fails" => return Step::Refused,
        "retries" if !users(messages).any(|text| text.contains(GOES_ON)) => return Step::Breaks,
        _ => {}
    }
    if !called("bash") {
        // What a command leaves in the background must end with the program.
        let command = format!("echo {id} >> ran; sleep 300 >/dev/null 2>&1 & sleep 0.02");
        return Step::Calls("bash", json!({ "command": command }));
    }
    if name.starts_with("lead") && !called("subagent") {
        let mut members: Vec<_> = (1..=MEMBERS).map(|member| new(&format!("{id}-m{member}"))).collect();
        let mode = if name == "lead2" { "background" } else { "await" };
        if name == "lead3" {
            members.iter_mut().for_each(|member| member["group"] = json!(id));
        }
        return Step::Calls("subagent", json!({ "mode": mode, "agents": members }));
    }
    if let Some(step) = resumed(messages) {
        return step;
    }
    let has_run =
        messages.iter().any(|message| message["role"] == "tool" && text(message).contains("Exit code: 0"));
    Step::Says(if has_run { answer(id) } else { format!("{id} was interrupted at its command") })
}

/// Returns a request for a new subagent.
fn new(id: &str) -> Value {
    json!({ "id": id, "type": "general", "task": format!("{ASSIGNMENT}{id}: record it in the file and report.") })
}

/// Resumes all subagents that the conversation names as interrupted.
fn resumed(messages: &[Value]) -> Option<Step> {
    let mut open: Vec<String> = Vec::new();
    for message in messages {
        if message["role"] == "user" {
            let text = text(message);
            let hints =
                text.split(RESUME).skip(1).filter_map(|rest| Some(rest.split_once('"')?.0.to_owned()));
            open.extend(hints);
        }
        for (_, args) in calls(std::slice::from_ref(message)) {
            let agents = args["agents"].as_array().into_iter().flatten();
            agents.for_each(|agent| open.retain(|id| agent["resume"] != id.as_str()));
        }
    }
    open.sort_unstable();
    open.dedup();
    let agents: Vec<_> = open.iter().map(|id| json!({ "resume": id })).collect();
    (!agents.is_empty()).then(|| Step::Calls("subagent", json!({ "agents": agents })))
}

fn is_resume(args: &Value) -> bool {
    args["agents"].as_array().is_some_and(|agents| agents.iter().any(|agent| agent["resume"].is_string()))
}

/// Returns the names and arguments of the calls.
fn calls(messages: &[Value]) -> impl Iterator<Item = (String, Value)> {
    let calls = messages.iter().flat_map(|message| message["tool_calls"].as_array().into_iter().flatten());
    calls.map(|call| {
        let function = &call["function"];
        let args = function["arguments"].as_str().and_then(|args| serde_json::from_str(args).ok());
        (function["name"].as_str().unwrap_or_default().to_owned(), args.unwrap_or_default())
    })
}

fn users(messages: &[Value]) -> impl Iterator<Item = String> {
    messages.iter().filter(|message| message["role"] == "user").map(text)
}

/// Returns the text of a message, whose content is a string or a list of parts.
fn text(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(text: &str) -> Value {
        json!({ "role": "user", "content": [{ "type": "text", "text": text }] })
    }

    fn call(name: &str, args: &Value) -> Value {
        let function = json!({ "name": name, "arguments": args.to_string() });
        json!({ "role": "assistant", "tool_calls": [{ "id": "call_0", "function": function }] })
    }

    fn command(step: &Step) -> String {
        let Step::Calls("bash", args) = step else { panic!("{step:?}") };
        args["command"].as_str().unwrap().to_owned()
    }

    #[test]
    fn a_subagent_runs_its_command_once_and_resumes_what_was_interrupted() {
        let begin = user(&format!("You are an agent.\n\n{ASSIGNMENT}3-lead1: record it"));
        assert_eq!(agent(std::slice::from_ref(&begin)).unwrap(), "3-lead1");
        let step = of_agent(std::slice::from_ref(&begin), "3-lead1");
        assert!(command(&step).starts_with("echo 3-lead1 >> ran;"));
        let mut messages = vec![begin, call("bash", &json!({ "command": "" }))];
        let Step::Calls("subagent", members) = of_agent(&messages, "3-lead1") else { panic!() };
        assert_eq!(members["agents"].as_array().unwrap().len() as u64, MEMBERS);
        messages.push(call("subagent", &members));
        assert_eq!(
            of_agent(&messages, "3-lead1"),
            Step::Says("3-lead1 was interrupted at its command".to_owned())
        );
        messages.push(json!({ "role": "tool", "content": "\nExit code: 0" }));
        assert_eq!(of_agent(&messages, "3-lead1"), Step::Says(answer("3-lead1")));
        messages.push(user("Go on with it: subagent with resume: \"3-lead1-m2\"."));
        let Step::Calls("subagent", again) = of_agent(&messages, "3-lead1") else { panic!() };
        assert_eq!(again["agents"], json!([{ "resume": "3-lead1-m2" }]));
        messages.push(call("subagent", &again));
        assert_eq!(of_agent(&messages, "3-lead1"), Step::Says(answer("3-lead1")));
    }

    #[test]
    fn one_subagent_fails_for_good_and_one_is_tried_again() {
        let begin = user(&format!("{ASSIGNMENT}3-retries: record it"));
        assert_eq!(of_agent(std::slice::from_ref(&begin), "3-fails"), Step::Refused);
        assert_eq!(of_agent(std::slice::from_ref(&begin), "3-retries"), Step::Breaks);
        let again = [begin, user("The last request failed. Go on where you stopped.")];
        assert!(command(&of_agent(&again, "3-retries")).starts_with("echo 3-retries >> ran;"));
    }

    #[test]
    fn a_swarm_is_requested_in_two_calls() {
        let mut messages = vec![user("step 3 with a swarm")];
        let mut ids = Vec::new();
        for _ in 0..2 {
            let step = of_session(&messages, &messages, 3, Extra::Swarm);
            let Step::Calls("subagent", args) = step else { panic!("{step:?}") };
            ids.extend(args["agents"].as_array().unwrap().iter().map(|agent| agent["id"].clone()));
            messages.push(call("subagent", &args));
        }
        assert_eq!(of_session(&messages, &messages, 3, Extra::Swarm), Step::Says("done 3".to_owned()));
        let commands = ids.len() as u64 + 3 * MEMBERS - 1;
        assert_eq!(
            commands,
            crate::faults::kill_moment::SWARM_COMMANDS,
            "one of them fails before its command"
        );
    }
}
