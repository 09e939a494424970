//! The pilot's reports: changes, results of commands, failures, and how to connect a language
//! model.

use super::{
    block::fenced,
    commands::COMMANDS,
    parse::UnclearStep,
    progress::Blocked,
    step::{Command, Outcome, Step},
};
use std::collections::BTreeMap;

/// How to connect a language model instead.
pub(crate) const CONNECT: &str = "To work in free language, connect a language model: set `OPENAI_API_KEY` or `ANTHROPIC_API_KEY`, or start \
     Ollama, llama.cpp or LM Studio on this machine; then choose it in the model list or with `--model`.";

/// What the pilot is.
pub(crate) const SELF: &str = "I am the offline pilot: a built-in command interpreter, not a language model. I understand a fixed set of plain English \
     commands and do them on your files with the real tools.";

/// Returns the report after all steps succeeded.
pub(crate) fn done(outcomes: &[Outcome]) -> String {
    let text = listed(outcomes);
    let changed = changed(outcomes);
    if changed.is_empty() { text } else { format!("{text}\n\n{changed}") }
}

/// Returns the report after a step failed.
pub(crate) fn stopped(steps: &[Box<dyn Step>], outcomes: &[Outcome], why: &Blocked) -> String {
    let index = outcomes.len();
    let name =
        if steps.len() == 1 { String::new() } else { format!("Step {} of {}: ", index + 1, steps.len()) };
    let step = steps.get(index).map(|step| step.describe()).unwrap_or_default();
    let mut parts = Vec::new();
    if !outcomes.is_empty() {
        parts.push(listed(outcomes));
    }
    parts.push(match why {
        Blocked::Refused(tool) => format!("{name}you refused `{tool}` ({step}), so I stopped."),
        Blocked::Failed(text) => {
            let stop = if text.ends_with(['.', '`', '!', '?']) { "" } else { "." };
            format!("{name}{step} failed: {text}{stop}")
        }
        Blocked::Lost | Blocked::Calls(_) => format!(
            "{name}{step} cannot go on: the calls in this conversation are not the ones I would have made, so I do not know where I am. \
             Send the command again."
        ),
    });
    let rest: Vec<String> =
        steps.iter().skip(index + 1).map(|step| format!("- {}", step.describe())).collect();
    if !rest.is_empty() {
        parts.push(format!("I stopped there. Not done:\n{}", rest.join("\n")));
    }
    let changed = changed(outcomes);
    parts.push(if changed.is_empty() {
        "No file was changed by the finished steps.".to_owned()
    } else {
        changed
    });
    capitalised(&parts.join("\n\n"))
}

/// Returns the answer to a prompt that could not be parsed.
pub(crate) fn unclear(unclear: &[UnclearStep], steps: usize) -> String {
    let mut text = format!("I did nothing. {SELF}\n");
    for part in unclear {
        let which = if steps > 1 { format!("step {} ", part.number) } else { String::new() };
        text.push_str(&format!("\nI do not understand {which}\"{}\"", part.text));
        text.push_str(&part.reason.as_ref().map_or(".".to_owned(), |reason| format!(": {reason}.")));
    }
    let mut shown: Vec<&str> = Vec::new();
    text.push_str("\n\nThe closest forms:\n");
    for command in unclear.iter().flat_map(|part| &part.closest) {
        if !shown.contains(&command.form) {
            shown.push(command.form);
            text.push_str(&form(command));
        }
    }
    format!("{text}\nSay `help` for all of them. {CONNECT}")
}

/// Returns the answer to `help`.
pub(crate) fn help() -> String {
    let forms: String = COMMANDS.iter().map(|command| form(command)).collect();
    format!(
        "{SELF}\n\n{forms}\nJoin steps with `then`, `;`, new lines or a numbered list; put texts and paths with spaces in quotes, long texts in \
         code blocks. Begin with `with a plan:` to keep a task list. I read a file before I edit it, I do nothing when I do not understand \
         all of a prompt, and I stop at the first step that fails or that you refuse.\n\n{CONNECT}"
    )
}

/// Returns the answer to a greeting.
pub(crate) fn hello() -> String {
    format!("Hello. {SELF} Say `help` to see them.\n\n{CONNECT}")
}

fn form(command: &Command) -> String {
    let example = command.example;
    if example.contains('\n') {
        return format!("- {}. For example:\n{}\n", command.form, fenced(example));
    }
    format!("- {}. For example: `{example}`\n", command.form)
}

fn listed(outcomes: &[Outcome]) -> String {
    let single = outcomes.len() == 1;
    let tell = |(index, outcome): (usize, &Outcome)| {
        let number = if single { String::new() } else { format!("{}. ", index + 1) };
        let line = capitalised(&outcome.line);
        match &outcome.shown {
            Some(shown) => format!("{number}{line}:\n\n{shown}"),
            None => format!("{number}{line}."),
        }
    };
    outcomes.iter().enumerate().map(tell).collect::<Vec<_>>().join("\n\n")
}

fn changed(outcomes: &[Outcome]) -> String {
    let mut files: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (path, what) in outcomes.iter().flat_map(|outcome| &outcome.changed) {
        files.entry(path).or_default().push(what);
    }
    if files.is_empty() {
        return String::new();
    }
    let lines: Vec<String> =
        files.iter().map(|(path, what)| format!("- `{path}`: {}", what.join("; "))).collect();
    format!("Changed:\n{}", lines.join("\n"))
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}
