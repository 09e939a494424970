//! `offline/pilot`: a deterministic command interpreter behind [`LanguageModel`].
//!
//! It parses a fixed set of plain English commands and runs them with the offered tools, so that
//! the product works without a key or a network, and so that demonstrations and tests drive the
//! real runtime. It is not a language model and states so. The user documentation of the grammar is
//! `docs/pilot.md`.
//!
//! Architecture Invariant: it keeps no state. Each request is answered from its conversation alone.

mod block;
mod commands;
mod file;
mod files;
mod lexer;
mod limits;
mod lines;
mod parse;
mod phrase;
mod progress;
mod rename;
mod replace;
mod report;
mod run;
mod search;
mod show;
mod step;
mod step_split;
mod tasks;
#[cfg(test)]
mod tests;
mod uri;
mod verbs;
mod write;

use agent::{
    LanguageModel, Message, ModelError, ModelEvent, ModelInfo, ModelLimits, ModelRequest, ModelStop, Usage,
};
use futures::{StreamExt as _, stream, stream::BoxStream};
use parse::Parsed;
pub(crate) use progress::Call;
use progress::{Blocked, Script};
use step::{Outcome, Step};

/// The pilot's model id.
pub const ID: &str = "offline/pilot";

/// The built-in command interpreter.
#[derive(Debug, Clone)]
pub struct OfflinePilot {
    info: ModelInfo,
}

/// An answer: text, and the calls whose results are needed to continue. Without calls, the prompt
/// is finished.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Reply {
    /// Text for the user.
    pub(crate) text: String,
    /// Calls to make, at most [`limits::CALLS_PER_REPLY`].
    pub(crate) calls: Vec<Call>,
}

impl Default for OfflinePilot {
    fn default() -> Self {
        let text = "A built-in command interpreter, not a language model: it does plain English commands such as `show FILE` or `replace X \
                    with Y in FILE`, without a key or a network.";
        let disclosure = "You are talking to the offline pilot, a command interpreter and not a language model; say `help` for what it \
                          understands and how to connect a language model.";
        Self {
            info: ModelInfo {
                id: ID.to_owned(),
                name: "Offline pilot (no language model)".to_owned(),
                description: Some(text.to_owned()),
                limits: ModelLimits {
                    context_size: limits::CONTEXT_TOKENS,
                    max_output: limits::OUTPUT_TOKENS,
                    silence: None,
                },
                disclosure: Some(disclosure.to_owned()),
                ..ModelInfo::default()
            },
        }
    }
}

impl LanguageModel for OfflinePilot {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let made = progress::calls_made(&request.messages);
        let reply = next(&request);
        let usage = estimate(&request, &reply);
        let stop = if reply.calls.is_empty() { ModelStop::EndTurn } else { ModelStop::ToolCalls };
        let text = chunks(&reply.text).into_iter().map(ModelEvent::Text).collect::<Vec<_>>();
        let calls = reply.calls.into_iter().enumerate().map(move |(index, call)| {
            ModelEvent::call(format!("pilot_{}", made + index + 1), call.name, &call.arguments)
        });
        let end = [ModelEvent::Usage(usage), ModelEvent::Stop(stop)];
        stream::iter(text.into_iter().chain(calls).chain(end).map(Ok)).boxed()
    }
}

/// Returns the next answer of a conversation. Pure: the same request always gets the same answer.
pub(crate) fn next(request: &ModelRequest) -> Reply {
    let text_reply = |text: String| Reply { text, calls: Vec::new() };
    let Some(prompt) = progress::prompt(request) else { return text_reply(report::hello()) };
    match parse::parse(&prompt) {
        Parsed::Help => text_reply(report::help()),
        Parsed::Hello => text_reply(report::hello()),
        Parsed::Unclear { parts, steps } => text_reply(report::unclear(&parts, steps)),
        Parsed::Work { steps, plan } => {
            let mut script = Script::of(request);
            if let Some(text) = unavailable(&steps, &script) {
                return text_reply(text);
            }
            let mut outcomes = Vec::new();
            let ended = perform(&steps, plan, &mut script, &mut outcomes);
            let mut text = script.take_messages();
            match ended {
                Err(Blocked::Calls(calls)) => return Reply { text: text.join("\n\n"), calls },
                Err(why) => text.push(report::stopped(&steps, &outcomes, &why)),
                Ok(()) => text.push(report::done(&outcomes)),
            }
            text_reply(text.join("\n\n"))
        }
    }
}

fn perform(
    steps: &[Box<dyn Step>],
    plan: bool,
    script: &mut Script<'_>,
    outcomes: &mut Vec<Outcome>,
) -> Result<(), Blocked> {
    let count = steps.len();
    let list: Vec<String> = steps.iter().map(|step| step.describe()).collect();
    if count == 1 {
        script.add_message(format!("I will {}.", list[0]));
    } else {
        let lines: Vec<String> =
            list.iter().enumerate().map(|(index, step)| format!("{}. {step}", index + 1)).collect();
        script.add_message(format!("{count} steps:\n{}", lines.join("\n")));
    }
    let keeps_plan = plan && script.offers(tasks::LISTED);
    let ids = if keeps_plan { tasks::create(script, &list)? } else { vec![None; count] };
    for (index, step) in steps.iter().enumerate() {
        if count > 1 && index > 0 {
            script.add_message(format!("Step {} of {count}: {}.", index + 1, list[index]));
        }
        let before = index.checked_sub(1).and_then(|before| ids[before].as_ref());
        tasks::update(script, &[(before, "completed"), (ids[index].as_ref(), "in_progress")])?;
        match step.perform(script) {
            Ok(outcome) => outcomes.push(outcome),
            Err(Blocked::Calls(calls)) => return Err(Blocked::Calls(calls)),
            Err(why) => {
                if why != Blocked::Lost {
                    tasks::update(script, &[(ids[index].as_ref(), "cancelled")])?;
                }
                return Err(why);
            }
        }
    }
    tasks::update(script, &[(ids[count - 1].as_ref(), "completed")])
}

/// Returns a message about missing tools, if the steps need any that are not offered. No step is
/// started then.
fn unavailable(steps: &[Box<dyn Step>], script: &Script<'_>) -> Option<String> {
    let (index, missing) = steps.iter().enumerate().find_map(|(index, step)| {
        let missing: Vec<String> =
            step.tools().iter().filter(|tool| !script.offers(tool)).map(|tool| format!("`{tool}`")).collect();
        (!missing.is_empty()).then_some((index, missing.join(", ")))
    })?;
    let which = if steps.len() > 1 { format!("Step {}", index + 1) } else { "This".to_owned() };
    Some(format!(
        "I did nothing. {which} ({}) needs {missing}, which is not on offer in this mode. Switch the session to Edit mode and send it again.",
        steps[index].describe()
    ))
}

/// Splits a text into a few chunks, at line ends.
fn chunks(text: &str) -> Vec<String> {
    let size = (text.len() * 2).div_ceil(limits::CHUNKS).max(1);
    let mut chunks: Vec<String> = Vec::new();
    for line in text.split_inclusive('\n') {
        match chunks.last_mut() {
            Some(last) if last.len() + line.len() <= size => last.push_str(line),
            _ => chunks.push(line.to_owned()),
        }
    }
    chunks
}

/// Estimates the token counts of all input and all output: one token per
/// [`limits::BYTES_PER_TOKEN`] bytes, rounded up.
fn estimate(request: &ModelRequest, reply: &Reply) -> Usage {
    let message = |message: &Message| match message {
        Message::User(contents) => contents.iter().map(content_bytes).sum(),
        Message::Assistant(answer) => {
            let call = |call: &agent::AnsweredCall| {
                let arguments =
                    call.arguments.as_ref().map_or_else(|bad| bad.raw.len(), |value| value.to_string().len());
                call.name.len() + arguments + call.result.text.len()
            };
            answer.text().len() + answer.calls().map(call).sum::<usize>()
        }
    };
    let tool =
        |tool: &agent::ToolSpec| tool.name.len() + tool.description.len() + tool.parameters.to_string().len();
    let input = request.system.len()
        + request.messages.iter().map(message).sum::<usize>()
        + request.tools.iter().map(tool).sum::<usize>();
    let call = |call: &Call| call.name.len() + call.arguments.to_string().len();
    let output = reply.text.len() + reply.calls.iter().map(call).sum::<usize>();
    let tokens = |bytes: usize| bytes.div_ceil(limits::BYTES_PER_TOKEN) as u64;
    Usage { input: tokens(input), output: tokens(output), ..Usage::default() }
}

fn content_bytes(content: &agent::Content) -> usize {
    use agent::Content;
    match content {
        Content::Text(text) => text.len(),
        // The pilot ignores images.
        Content::Image { .. } => 0,
        Content::ResourceLink { uri, name } => uri.len() + name.len(),
        Content::Resource { uri, text, .. } => uri.len() + text.len(),
    }
}
