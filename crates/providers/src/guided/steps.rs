//! The tasks that a prompt is split into.

use super::{
    block, commands, kind,
    kind::Kind,
    messages::{answer, user},
    project::Project,
    rename,
};
use agent::{
    AnsweredCall, Content, LanguageModel, Message, ModelError, ModelEvent, ModelRequest, ModelStop, Usage,
};
use futures::{StreamExt, channel::mpsc::UnboundedSender};
use serde_json::{Value, json};
use std::{collections::BTreeSet, fmt::Write as _, sync::Arc};

/// The most files that one prompt changes.
const FILES: usize = 6;
/// The most commands that one prompt runs.
const COMMANDS: usize = 3;
/// How often files are corrected after a command has failed.
const CORRECTIONS: usize = 1;
/// Bytes of a file that a model can be expected to rewrite.
const REWRITE_BYTES: usize = 8 * 1024;
/// Lines of the project that are quoted with a question.
const NAMED_LINES: usize = 16;
/// Tokens of an answer that chooses from a list.
const CHOICE_TOKENS: u64 = 256;
/// Tokens of an answer to a question.
const ANSWER_TOKENS: u64 = 1_024;
/// Bytes of a command's output that are quoted back; the end, where failures are.
const OUTPUT_BYTES: usize = 1_500;

const SYSTEM: &str =
    "You are Tiller, a coding agent. You work on the user's project. <files> and <file> show it.\n";
const EXPLAIN: &str = "Answer in a few sentences. First quote the lines that decide it and name their file, then follow step by step what the code does, then give the answer.";
const CHOOSE_FILES: &str = "Which files must be changed or created for this? {\"files\": [path, ...]}";

/// Where a turn stands.
#[derive(Debug)]
pub(super) struct Situation {
    /// What the user wrote.
    prompt: String,
    /// The messages up to and including the prompt.
    base: usize,
    project: Project,
    /// The calls since the prompt, in order, each round in a list of its own.
    rounds: Vec<Vec<AnsweredCall>>,
}

/// Returns where the turn of a request stands, or `None` if the request cannot be guided: it is not
/// part of a turn, its answer has a prescribed form, or no file of the project is shown.
pub(super) fn situation(request: &ModelRequest) -> Option<Situation> {
    let can_write = request.tools.iter().any(|tool| tool.name == "file_write");
    if !can_write || request.answer_schema.is_some() {
        return None;
    }
    let last = request.messages.iter().rposition(|message| matches!(message, Message::User(_)))?;
    let Message::User(parts) = &request.messages[last] else { return None };
    let texts = parts.iter().filter_map(|part| match part {
        Content::Text(text) => Some(text.as_str()),
        _ => None,
    });
    // Blocks that begin with a tag are briefings, not the user's words.
    let prompt: Vec<&str> = texts.filter(|text| !text.trim_start().starts_with('<')).collect();
    let prompt = prompt.join("\n");
    let rounds = request.messages[last + 1..]
        .iter()
        .filter_map(|message| match message {
            Message::Assistant(answer) => Some(answer.calls().cloned().collect()),
            Message::User(_) => None,
        })
        .collect();
    let project = Project::of(&request.messages);
    let is_known = !project.texts.is_empty() || !project.new_names(&prompt).is_empty();
    (is_known && !prompt.trim().is_empty()).then_some(Situation { prompt, base: last + 1, project, rounds })
}

/// How the new text of a file is asked for.
#[derive(Debug, Clone, Copy)]
enum Rewrite {
    /// After a sentence on what is different.
    Explained,
    /// The text alone.
    Plain,
}

/// Guides a model through one answer of a turn.
pub(super) struct Guide {
    model: Arc<dyn LanguageModel>,
    request: ModelRequest,
    events: UnboundedSender<Result<ModelEvent, ModelError>>,
    /// The tokens of finished requests.
    spent: Usage,
    calls: usize,
    /// Why the answer ends if it makes no calls.
    stop: ModelStop,
}

impl Guide {
    pub(super) fn new(
        model: Arc<dyn LanguageModel>,
        request: ModelRequest,
        events: UnboundedSender<Result<ModelEvent, ModelError>>,
    ) -> Self {
        Self { model, request, events, spent: Usage::default(), calls: 0, stop: ModelStop::EndTurn }
    }

    /// Produces the answer. Errors of the model end it.
    pub(super) async fn run(mut self, situation: Situation) {
        let result = match situation.rounds.last() {
            None => self.begin(&situation).await,
            Some(calls) => self.proceed(&situation, calls).await,
        };
        let end = match result {
            Ok(()) if self.calls > 0 => Ok(ModelEvent::Stop(ModelStop::ToolCalls)),
            Ok(()) => Ok(ModelEvent::Stop(self.stop)),
            Err(error) => Err(error),
        };
        self.emit(end);
    }

    async fn begin(&mut self, situation: &Situation) -> Result<(), ModelError> {
        let asked = kind::messages(&situation.prompt);
        let kind = self.ask(kind::SYSTEM, asked, Some(kind::schema()), CHOICE_TOKENS).await?;
        match kind::read(&kind) {
            Kind::Question => self.explain(situation).await,
            Kind::Rename => self.rename(situation).await,
            Kind::Work => self.choose_files(situation).await,
        }
    }

    /// Replaces a name in all files that are shown. Work like any other if the two names cannot be
    /// read, or if there are files that are not shown.
    async fn rename(&mut self, situation: &Situation) -> Result<(), ModelError> {
        let project = &situation.project;
        let asked = rename::messages(&situation.prompt);
        let names = self.ask(rename::SYSTEM, asked, Some(rename::schema()), CHOICE_TOKENS).await?;
        let is_shown = |name: &String| project.texts.contains_key(name);
        if let Some((old, new)) = rename::read(&names, &situation.prompt)
            && project.names.iter().all(is_shown)
        {
            for (name, text) in &project.texts {
                if let Some(text) = rename::replaced(text, &old, &new) {
                    self.call("file_write", &json!({ "path": name, "content": text }));
                }
            }
        }
        if self.calls == 0 { self.choose_files(situation).await } else { Ok(()) }
    }

    /// Answers a question. The text is passed on as it comes.
    async fn explain(&mut self, situation: &Situation) -> Result<(), ModelError> {
        let mut messages = self.request.messages.clone();
        let lines = situation.project.lines_with_names(&situation.prompt, NAMED_LINES);
        let mut how = EXPLAIN.to_owned();
        if !lines.is_empty() {
            how = format!("These lines have the names of the question:\n{}\n{EXPLAIN}", lines.join("\n"));
        }
        messages.push(user(how));
        self.request(SYSTEM, messages, None, ANSWER_TOKENS, true).await.map(drop)
    }

    async fn choose_files(&mut self, situation: &Situation) -> Result<(), ModelError> {
        let project = &situation.project;
        let mut messages = self.base(situation);
        messages.push(user(CHOOSE_FILES));
        let new = project.new_names(&situation.prompt);
        let names: Vec<String> = project.names.iter().chain(&new).cloned().collect();
        let mut chosen = self.choose(messages, "files", &names, FILES).await?;
        // Small models forget them.
        chosen.extend(new.into_iter().filter(|name| !chosen.contains(name)).collect::<Vec<_>>());
        let unseen = |name: &&String| project.names.contains(name) && !project.texts.contains_key(*name);
        let unseen: Vec<&String> = chosen.iter().filter(unseen).collect();
        if unseen.is_empty() {
            return self.write_files(situation, &chosen, None).await;
        }
        for name in unseen {
            self.call("file_read", &json!({ "path": name }));
        }
        Ok(())
    }

    /// Goes on after calls of this turn.
    async fn proceed(&mut self, situation: &Situation, calls: &[AnsweredCall]) -> Result<(), ModelError> {
        if let Some(failed) = calls.iter().find(|call| call.result.is_error && call.name != "bash") {
            // The user or a rule refused it, or the file cannot be changed.
            let problem = failed.result.text.lines().next().unwrap_or_default();
            self.emit(Ok(ModelEvent::Text(format!("Not done: {problem}"))));
            return Ok(());
        }
        match calls.last().map_or("", |call| call.name.as_str()) {
            "file_read" => {
                let read: Vec<String> = calls.iter().filter_map(|call| argument(call, "path")).collect();
                self.write_files(situation, &read, None).await
            }
            "file_write" => self.run_commands(situation).await,
            "bash" => self.after_commands(situation, calls).await,
            _ => self.explain(situation).await,
        }
    }

    /// Has each file rewritten and calls `file_write` for those that changed. `failure` is the
    /// output of a command that has to succeed.
    async fn write_files(
        &mut self,
        situation: &Situation,
        names: &[String],
        failure: Option<&str>,
    ) -> Result<(), ModelError> {
        let mut messages = self.base(situation);
        if let Some(failure) = failure {
            messages.push(user(format!("The request was: {}\n{failure}", situation.prompt)));
        }
        let is_long = |name: &&String| {
            situation.project.texts.get(*name).is_some_and(|text| text.len() > REWRITE_BYTES)
        };
        let (long, names): (Vec<&String>, Vec<&String>) = names.iter().partition(is_long);
        for how in [Rewrite::Explained, Rewrite::Plain] {
            for name in &names {
                self.rewrite(situation, name, how, failure.is_some(), &mut messages).await?;
            }
            if self.calls > 0 {
                return Ok(());
            }
            // Another way to ask, without the useless answers.
            messages = self.base(situation);
        }
        for name in long {
            self.emit(Ok(ModelEvent::Text(format!("`{name}` is too long for this model to rewrite. "))));
        }
        let nothing = "Nothing was changed: the model gave no usable new text.";
        self.emit(Ok(ModelEvent::Text(nothing.to_owned())));
        Ok(())
    }

    /// Asks for the new text of a file, and calls `file_write` if the answer has one that differs.
    async fn rewrite(
        &mut self,
        situation: &Situation,
        name: &str,
        how: Rewrite,
        is_correction: bool,
        messages: &mut Vec<Message>,
    ) -> Result<(), ModelError> {
        let old = situation.project.texts.get(name).map(String::as_str);
        let reason = if is_correction { "what is still wrong" } else { "what must be different" };
        messages.push(user(match (old, how) {
            (None, _) => format!("Write the whole text of the new file {name}, in a fenced block."),
            (Some(_), Rewrite::Explained) => format!(
                "Say in one sentence {reason} in {name}. Then write the whole new text of {name}, in a fenced block."
            ),
            (Some(_), Rewrite::Plain) => format!("Write the whole new text of {name}, in a fenced block."),
        }));
        let text = self.ask(SYSTEM, messages.clone(), None, self.model.info().max_output).await?;
        messages.push(answer(&text));
        let Some(new) = block::rewritten(&text).filter(|new| block::is_usable(old, &new.text)) else {
            return Ok(());
        };
        if !new.introduction.is_empty() {
            self.emit(Ok(ModelEvent::Text(format!("{}\n\n", new.introduction))));
        }
        self.call("file_write", &json!({ "path": name, "content": new.text }));
        Ok(())
    }

    /// Runs the commands that the prompt quotes and asks for.
    async fn run_commands(&mut self, situation: &Situation) -> Result<(), ModelError> {
        let ran: BTreeSet<String> = situation.ran().collect();
        let chosen = if ran.is_empty() {
            let quoted = commands::quoted(&situation.prompt);
            if quoted.is_empty() {
                Vec::new()
            } else {
                let mut messages = self.request.messages.clone();
                let list = json!({ "run": quoted });
                messages.push(user(format!(
                    "The request was: {}\nWhich of these commands does it ask to run? {list}",
                    situation.prompt
                )));
                self.choose(messages, "run", &quoted, COMMANDS).await?
            }
        } else {
            // After a correction.
            ran.into_iter().collect()
        };
        for command in &chosen {
            self.call("bash", &json!({ "command": command }));
        }
        if chosen.is_empty() {
            self.conclude(situation);
        }
        Ok(())
    }

    async fn after_commands(
        &mut self,
        situation: &Situation,
        calls: &[AnsweredCall],
    ) -> Result<(), ModelError> {
        let failed = calls.iter().find(|call| has_failed(call));
        let corrections = situation.rounds.iter().filter(|calls| calls.iter().any(has_failed)).count();
        let written = situation.written();
        match failed {
            Some(call) if corrections <= CORRECTIONS && !written.is_empty() => {
                let command = argument(call, "command").unwrap_or_default();
                let output = &call.result.text;
                let start = agent::ceil_char_boundary(output, output.len().saturating_sub(OUTPUT_BYTES));
                let output = &output[start..];
                self.write_files(situation, &written, Some(&format!("`{command}` fails:\n{output}"))).await
            }
            _ => {
                self.conclude(situation);
                Ok(())
            }
        }
    }

    /// States what was done. The model is not asked: it would claim more.
    fn conclude(&mut self, situation: &Situation) {
        let mut text = String::new();
        let written = situation.written();
        if !written.is_empty() {
            let _ = write!(text, "Changed {}.", quoted_list(&written));
        }
        for call in situation.rounds.last().into_iter().flatten().filter(|call| call.name == "bash") {
            let command = argument(call, "command").unwrap_or_default();
            let outcome = if has_failed(call) { "failed" } else { "succeeded" };
            let _ = write!(text, " `{command}` {outcome}.");
        }
        self.emit(Ok(ModelEvent::Text(text.trim_start().to_owned())));
    }

    /// The conversation up to the prompt.
    fn base(&self, situation: &Situation) -> Vec<Message> {
        self.request.messages[..situation.base].to_vec()
    }

    /// Has the model choose from a list. Empty if its answer cannot be read.
    async fn choose(
        &mut self,
        messages: Vec<Message>,
        key: &str,
        choices: &[String],
        most: usize,
    ) -> Result<Vec<String>, ModelError> {
        let items = json!({ "type": "array", "items": { "enum": choices }, "minItems": 1, "maxItems": most });
        let schema = json!({
            "type": "object",
            "properties": { key: items },
            "required": [key],
            "additionalProperties": false,
        });
        let text = self.ask(SYSTEM, messages, Some(schema), CHOICE_TOKENS).await?;
        let read: Option<Value> = serde_json::from_str(&text).ok();
        let list = read.as_ref().and_then(|read| read.get(key)?.as_array().cloned()).unwrap_or_default();
        let mut chosen: Vec<String> = Vec::new();
        for name in list.iter().filter_map(Value::as_str) {
            // A server that ignores schemas lets the model write anything.
            if choices.iter().any(|choice| choice == name) && !chosen.iter().any(|known| known == name) {
                chosen.push(name.to_owned());
            }
        }
        Ok(chosen)
    }

    /// Asks the model and returns its whole answer.
    async fn ask(
        &mut self,
        system: &str,
        messages: Vec<Message>,
        schema: Option<Value>,
        most: u64,
    ) -> Result<String, ModelError> {
        self.request(system, messages, schema, most, false).await
    }

    async fn request(
        &mut self,
        system: &str,
        messages: Vec<Message>,
        schema: Option<Value>,
        most: u64,
        passes_text_on: bool,
    ) -> Result<String, ModelError> {
        let request = ModelRequest {
            system: system.to_owned(),
            messages,
            tools: agent::ToolSpecs::default(),
            max_output: Some(self.request.max_output.unwrap_or(u64::MAX).min(most)),
            answer_schema: schema,
            ..self.request.clone()
        };
        let mut answer = String::new();
        let mut used = Usage::default();
        let mut stream = self.model.stream(request);
        while let Some(event) = stream.next().await {
            match event? {
                ModelEvent::Text(text) => {
                    answer.push_str(&text);
                    let event = if passes_text_on { ModelEvent::Text(text) } else { ModelEvent::Alive };
                    self.emit(Ok(event));
                }
                ModelEvent::Usage(usage) => {
                    used = usage;
                    let mut all = self.spent;
                    all += used;
                    self.emit(Ok(ModelEvent::Usage(all)));
                }
                ModelEvent::Stop(stop) if passes_text_on => self.stop = stop,
                event @ (ModelEvent::Alive
                | ModelEvent::Retrying { .. }
                | ModelEvent::Notice(_)
                | ModelEvent::Reasoning(_)) => self.emit(Ok(event)),
                // Without tools there are no calls, and other models' items are of no use here.
                _ => {}
            }
        }
        self.spent += used;
        Ok(answer)
    }

    fn call(&mut self, name: &str, arguments: &Value) {
        self.calls += 1;
        self.emit(Ok(ModelEvent::call(format!("guided-{}", self.calls), name, arguments)));
    }

    fn emit(&self, event: Result<ModelEvent, ModelError>) {
        // The receiver is gone only if the stream is dropped, and then this is, too.
        let _ = self.events.unbounded_send(event);
    }
}

impl Situation {
    fn calls(&self) -> impl Iterator<Item = &AnsweredCall> {
        self.rounds.iter().flatten()
    }

    /// The files written in this turn, each once.
    fn written(&self) -> Vec<String> {
        let mut written: Vec<String> = Vec::new();
        for call in self.calls().filter(|call| call.name == "file_write" && !call.result.is_error) {
            if let Some(path) = argument(call, "path").filter(|path| !written.contains(path)) {
                written.push(path);
            }
        }
        written
    }

    /// The commands run in this turn.
    fn ran(&self) -> impl Iterator<Item = String> {
        self.calls().filter(|call| call.name == "bash").filter_map(|call| argument(call, "command"))
    }
}

fn argument(call: &AnsweredCall, name: &str) -> Option<String> {
    call.arguments.as_ref().ok()?.get(name)?.as_str().map(str::to_owned)
}

/// Whether a command failed or was refused.
fn has_failed(call: &AnsweredCall) -> bool {
    call.name == "bash" && call.result.is_error
}

fn quoted_list(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
