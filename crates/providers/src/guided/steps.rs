//! The tasks that a prompt is split into.

use super::{
    block, commands,
    definitions::{self, Reconciled},
    kind::{self, Kind},
    messages::{answer, user},
    project, rename,
    requests::{Requests, SYSTEM, object},
    sections::{Section, sections},
    situation::{Situation, argument, excerpt, has_failed, is_refused, text_of},
};
use agent::{AnsweredCall, Message, Mode, ModelError};
use serde_json::json;
use std::{collections::BTreeSet, fmt::Write as _};

/// The most files that one prompt changes.
const FILES: usize = 6;
/// The most files that are read for one question.
const READ_FILES: usize = 3;
/// Lines of a file that are read for a question. A read with this limit is one for a question.
const QUESTION_LINES: u64 = 400;
/// The most commands that one prompt runs.
const COMMANDS: usize = 3;
/// How often files are corrected after a command has failed.
const CORRECTIONS: usize = 3;
/// Bytes of a file that a model can be expected to rewrite. Of longer files it rewrites a section.
const REWRITE_BYTES: usize = 8 * 1024;
/// Bytes of the longest file of which a section is rewritten.
const LONG_FILE_BYTES: usize = 64 * 1024;
/// Lines of the project that are quoted with a question.
const NAMED_LINES: usize = 16;
/// Tokens of an answer to a question, and of the growth of a file.
const ANSWER_TOKENS: u64 = 1_024;

const EXPLAIN: &str = "First quote the lines that decide it, word for word, with their file. Then go through these lines one by one and say what each does. Then answer in one sentence.";
const PLAN: &str = "Nothing may be changed now. Say which files must be changed for this, and what must be different in each.";
const REPORT: &str = "Answer in one or two sentences, from this output.";
const CHOOSE_FILES: &str = "Which files must be changed or created for this? {\"files\": [path, ...]}";
const CHOOSE_READ: &str = "Which files must be read to answer this? {\"read\": [path, ...]}";
const CHOOSE_COMMAND: &str = "Which command line does this ask to run in the shell? {\"command\": \"...\"}";

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
    requests: Requests,
    situation: Situation,
}

impl Guide {
    pub(super) fn new(requests: Requests, situation: Situation) -> Self {
        Self { requests, situation }
    }

    /// Produces the answer. Errors of the model end it.
    pub(super) async fn run(mut self) {
        let result = match self.situation.rounds.last().cloned() {
            None => self.begin().await,
            Some(calls) => self.proceed(&calls).await,
        };
        self.requests.end(result);
    }

    async fn begin(&mut self) -> Result<(), ModelError> {
        match (self.sort().await?, self.situation.mode) {
            (Kind::Question, _) => self.read_for_question().await,
            (Kind::Run, _) => self.run_request().await,
            (Kind::Rename | Kind::Work, Mode::Plan | Mode::Ask) => self.respond(PLAN.to_owned()).await,
            (Kind::Rename, Mode::Edit) => self.rename().await,
            (Kind::Work, Mode::Edit) => self.work().await,
        }
    }

    /// Changes files. If the prompt says that a command fails, this runs first: the model may see
    /// from its output what it cannot see in the code.
    async fn work(&mut self) -> Result<(), ModelError> {
        let named = commands::named(&self.situation.prompt);
        if commands::reports_failure(&self.situation.prompt) && !named.is_empty() {
            let chosen = self.choose_commands(&named).await?;
            self.run_all(&chosen);
        }
        if self.requests.calls() == 0 { self.choose_files().await } else { Ok(()) }
    }

    async fn sort(&mut self) -> Result<Kind, ModelError> {
        let asked = kind::messages(&self.situation.prompt);
        let kind = self.requests.ask_json(kind::SYSTEM, asked, kind::schema()).await?;
        let kind = kind::read(kind.as_ref());
        if kind != Kind::Run {
            return Ok(kind);
        }
        // A prompt that names a command and asks for a repair looks like one that only runs it.
        let asked = kind::edits::messages(&self.situation.prompt);
        let edits = self.requests.ask_json(kind::edits::SYSTEM, asked, kind::edits::schema()).await?;
        Ok(if kind::edits::read(edits.as_ref()) { Kind::Work } else { Kind::Run })
    }

    /// Goes on after calls of this turn.
    async fn proceed(&mut self, calls: &[AnsweredCall]) -> Result<(), ModelError> {
        if let Some(failed) = calls.iter().find(|call| call.result.is_error && call.name != "bash") {
            // The user or a rule refused it, or the file cannot be changed.
            let problem = failed.result.text.lines().next().unwrap_or_default();
            self.requests.say(format!("Not done: {problem}"));
            return Ok(());
        }
        match calls.last().map_or("", |call| call.name.as_str()) {
            "file_read" if calls.iter().all(is_for_question) => self.explain().await,
            "file_read" => {
                let read: Vec<String> = calls.iter().filter_map(|call| argument(call, "path")).collect();
                self.write_files(&read, self.situation.failure().as_deref()).await
            }
            "file_write" => self.run_commands().await,
            "bash" => self.after_commands(calls).await,
            _ => self.explain().await,
        }
    }

    /// Reads files that are not shown and that the model wants to see, and answers otherwise.
    async fn read_for_question(&mut self) -> Result<(), ModelError> {
        let project = &self.situation.project;
        if project.names.iter().all(|name| project.texts.contains_key(name)) {
            return self.explain().await;
        }
        let mut messages = self.conversation();
        messages.push(user(CHOOSE_READ));
        let chosen = self.requests.choose(messages, "read", &project.names, READ_FILES).await?;
        for name in chosen.iter().filter(|name| !project.texts.contains_key(*name)) {
            self.requests.call("file_read", &json!({ "path": name, "limit": QUESTION_LINES }));
        }
        if self.requests.calls() == 0 { self.explain().await } else { Ok(()) }
    }

    /// Answers a question.
    async fn explain(&mut self) -> Result<(), ModelError> {
        let lines = self.situation.project.lines_with_names(&self.situation.prompt, NAMED_LINES);
        // The question comes last, because a small model forgets what it was asked above its files.
        let mut how = format!("{}\n{EXPLAIN}", self.situation.prompt.trim());
        if !lines.is_empty() {
            how = format!("These lines have the names of the question:\n{}\n{how}", lines.join("\n"));
        }
        self.respond(how).await
    }

    /// Answers in words.
    async fn respond(&mut self, how: String) -> Result<(), ModelError> {
        let mut messages = self.requests.messages().to_vec();
        messages.push(user(how));
        self.requests.stream_answer(messages, ANSWER_TOKENS).await
    }

    /// Replaces a name in all files that are shown. Work like any other if the two names cannot be
    /// read, or if there are files that are not shown.
    async fn rename(&mut self) -> Result<(), ModelError> {
        let project = &self.situation.project;
        let asked = rename::messages(&self.situation.prompt);
        let names = self.requests.ask_json(rename::SYSTEM, asked, rename::schema()).await?;
        if let Some(names) =
            names.filter(|_| project.names.iter().all(|name| project.texts.contains_key(name)))
        {
            let prompt = &self.situation.prompt;
            if let Some((old, new)) = rename::read(&names, prompt) {
                self.replace_in_all(|text| rename::replaced(text, &old, &new));
                // Imports of a file with this name have the new one now.
                for (old, new) in rename::files(&self.situation.project.names, &old, &new) {
                    self.move_file(&old, &new);
                }
            } else if let Some((old, new)) = rename::read_file(&names, prompt, &project.names) {
                self.replace_in_all(|text| rename::with_renamed_file(text, &old, &new));
                self.move_file(&old, &new);
            }
        }
        if self.requests.calls() == 0 { self.choose_files().await } else { Ok(()) }
    }

    /// Renames a file. One that has the new name already, such as an ignored file, is not replaced.
    fn move_file(&mut self, old: &str, new: &str) {
        self.requests.call("bash", &json!({ "command": format!("mv -n {old} {new}") }));
    }

    /// Writes the files whose text a replacement changes.
    fn replace_in_all(&mut self, replaced: impl Fn(&str) -> Option<String>) {
        for (name, text) in &self.situation.project.texts {
            if let Some(text) = replaced(text) {
                self.requests.call("file_write", &json!({ "path": name, "content": text }));
            }
        }
    }

    async fn choose_files(&mut self) -> Result<(), ModelError> {
        let project = &self.situation.project;
        let mut messages = self.conversation();
        let failure = self.situation.failure();
        messages.push(user(
            failure.map_or_else(|| CHOOSE_FILES.to_owned(), |why| format!("{why}\n{CHOOSE_FILES}")),
        ));
        let new = project.new_names(&self.situation.prompt);
        let names: Vec<String> = project.changeable(&self.situation.prompt).chain(&new).cloned().collect();
        let mut chosen = self.requests.choose(messages, "files", &names, FILES).await?;
        // Small models forget them.
        let wanted = new.iter().filter(|name| project::is_to_be_created(&self.situation.prompt, name));
        chosen.extend(wanted.filter(|name| !chosen.contains(name)).cloned().collect::<Vec<_>>());
        // What uses a new file is easier to write after it.
        chosen.sort_by_key(|name| !new.contains(name));
        let unseen = |name: &&String| project.names.contains(name) && !project.texts.contains_key(*name);
        let unseen: Vec<&String> = chosen.iter().filter(unseen).collect();
        if unseen.is_empty() {
            return self.write_files(&chosen, self.situation.failure().as_deref()).await;
        }
        for name in unseen {
            self.requests.call("file_read", &json!({ "path": name }));
        }
        Ok(())
    }

    /// Has each file rewritten and calls `file_write` for those that changed. `failure` is the
    /// output of a command that has to succeed.
    async fn write_files(&mut self, names: &[String], failure: Option<&str>) -> Result<(), ModelError> {
        let (names, left): (Vec<&String>, Vec<&String>) =
            names.iter().partition(|name| self.obstacle(name).is_none());
        for name in left {
            let obstacle = self.obstacle(name).unwrap_or_default();
            self.requests.say(format!("`{name}` {obstacle}. "));
        }
        self.rewrite_all(&names, failure).await?;
        if self.requests.calls() == 0 && failure.is_some() {
            // The output may have led the model astray.
            self.rewrite_all(&names, None).await?;
        }
        if self.requests.calls() > 0 {
            return Ok(());
        }
        // A model that cannot see from the code what is wrong may see it from a command's output.
        let quoted = commands::named(&self.situation.prompt);
        if self.situation.commands().next().is_none() && !quoted.is_empty() {
            let chosen = self.choose_commands(&quoted).await?;
            self.run_all(&chosen);
        }
        if self.requests.calls() == 0 {
            self.requests.say("Nothing was changed: the model gave no usable new text.");
        }
        Ok(())
    }

    /// Asks for the new text of each file, in two ways if the first gives no usable one.
    async fn rewrite_all(&mut self, names: &[&String], failure: Option<&str>) -> Result<(), ModelError> {
        let mut messages = self.conversation();
        if let Some(failure) = failure {
            messages.push(user(format!("The request was: {}\n{failure}", self.situation.prompt)));
        }
        for name in names {
            for how in [Rewrite::Explained, Rewrite::Plain] {
                let (asked, calls) = (messages.len(), self.requests.calls());
                self.rewrite(name, how, failure.is_some(), &mut messages).await?;
                if self.requests.calls() > calls {
                    break;
                }
                // The other way to ask, after an explanation, but not after a useless text.
                let is_useless = |message: &Message| text_of(message).contains("```");
                if messages.last().is_none_or(is_useless) {
                    messages.truncate(asked);
                }
            }
        }
        Ok(())
    }

    /// Returns why a file cannot be rewritten.
    fn obstacle(&self, name: &str) -> Option<&'static str> {
        let project = &self.situation.project;
        match project.texts.get(name) {
            None => project.names.iter().any(|known| known == name).then_some("could not be read completely"),
            Some(text) => (text.len() > LONG_FILE_BYTES).then_some("is too long for this model"),
        }
    }

    /// Asks for the new text of a file, or of a section of it, and calls `file_write` if the answer
    /// has one that differs.
    async fn rewrite(
        &mut self,
        name: &str,
        how: Rewrite,
        is_correction: bool,
        messages: &mut Vec<Message>,
    ) -> Result<(), ModelError> {
        let old = self.situation.project.texts.get(name).cloned();
        let section = match &old {
            Some(text) if text.len() > REWRITE_BYTES => {
                let Some(section) = self.choose_section(name, text, messages).await? else { return Ok(()) };
                Some(section)
            }
            _ => None,
        };
        let reason = if is_correction { "what is still wrong" } else { "what must be different" };
        let part = section.as_ref().map_or_else(|| name.to_owned(), |section| section.title(name));
        let asked = match (&old, how) {
            (None, _) => format!("Write the whole text of the new file {name}, in a fenced block."),
            (Some(_), Rewrite::Explained) => format!(
                "Say in one sentence {reason} in {part}. Then write the whole new text of {part}, in a fenced block."
            ),
            (Some(_), Rewrite::Plain) => format!("Write the whole new text of {part}, in a fenced block."),
        };
        let before = section.as_ref().map(|section| section.text.as_str()).or(old.as_deref());
        let is_shown = section.is_none() && self.situation.before.texts.get(name) == old.as_ref();
        messages.push(user(match before {
            Some(text) if !is_shown => format!("{part} is now:\n<file>\n{text}</file>\n{asked}"),
            _ => asked,
        }));
        // A small model that repeats itself would go on to its limit.
        let most = before.map_or(u64::MAX, |text| ANSWER_TOKENS + text.len() as u64 / 2);
        let text = self.requests.ask(messages.clone(), most).await?;
        messages.push(answer(&text));
        let Some(answer) = block::rewritten(&text, name) else { return Ok(()) };
        let text = block::without_frame(&answer.text, name, before);
        let new = match before {
            Some(before) => definitions::reconciled(name, before, &text, &self.situation.prompt),
            None => Some(Reconciled { text, kept: Vec::new() }),
        };
        let Some(new) = new.filter(|new| block::is_usable(before, &new.text)) else { return Ok(()) };
        if !answer.introduction.is_empty() {
            self.requests.say(format!("{}\n\n", answer.introduction));
        }
        if !new.kept.is_empty() {
            self.requests.say(format!("Kept as before: {}.\n\n", quoted_list(&new.kept)));
        }
        let content = match (&section, &old) {
            (Some(section), Some(old)) => section.replaced(old, &new.text),
            _ => new.text,
        };
        self.requests.call("file_write", &json!({ "path": name, "content": content }));
        Ok(())
    }

    /// Has the model choose the section of a long file that must change.
    async fn choose_section(
        &mut self,
        name: &str,
        text: &str,
        messages: &[Message],
    ) -> Result<Option<Section>, ModelError> {
        let sections = sections(text);
        let labels: Vec<String> = sections.iter().map(Section::label).collect();
        let mut messages = messages.to_vec();
        messages.push(user(format!(
            "{name} has these sections:\n{}\nWhich one must be changed for this? {{\"section\": [...]}}",
            labels.join("\n")
        )));
        let chosen = self.requests.choose(messages, "section", &labels, 1).await?;
        Ok(sections.into_iter().find(|section| chosen.contains(&section.label())))
    }

    fn run_all(&mut self, commands: &[String]) {
        for command in commands {
            self.requests.call("bash", &json!({ "command": command }));
        }
    }

    /// Runs what the prompt asks to run.
    async fn run_request(&mut self) -> Result<(), ModelError> {
        let quoted = commands::named(&self.situation.prompt);
        let chosen = if quoted.is_empty() {
            let mut messages = self.conversation();
            messages.push(user(CHOOSE_COMMAND));
            let schema = object("command", json!({ "type": "string" }));
            let read = self.requests.ask_json(SYSTEM, messages, schema).await?;
            let command = read.as_ref().and_then(|read| read.get("command")?.as_str()).unwrap_or_default();
            Vec::from_iter((!command.trim().is_empty()).then(|| command.trim().to_owned()))
        } else {
            self.choose_commands(&quoted).await?
        };
        self.run_all(&chosen);
        if chosen.is_empty() { self.explain().await } else { Ok(()) }
    }

    /// Runs the commands that the prompt quotes and asks for.
    async fn run_commands(&mut self) -> Result<(), ModelError> {
        let refused: BTreeSet<String> = self.situation.refused().collect();
        let ran: BTreeSet<String> = self.situation.commands().collect();
        let quoted = commands::named(&self.situation.prompt);
        let chosen = match (ran.is_empty(), quoted.is_empty()) {
            // After a correction.
            (false, _) => ran.difference(&refused).cloned().collect(),
            (true, true) => Vec::new(),
            (true, false) => self.choose_commands(&quoted).await?,
        };
        self.run_all(&chosen);
        if chosen.is_empty() {
            self.conclude();
        }
        Ok(())
    }

    async fn choose_commands(&mut self, quoted: &[String]) -> Result<Vec<String>, ModelError> {
        let mut messages = self.requests.messages().to_vec();
        let list = json!({ "run": quoted });
        messages.push(user(format!(
            "The request was: {}\nWhich of these commands does it ask to run? {list}",
            self.situation.prompt
        )));
        self.requests.choose(messages, "run", quoted, COMMANDS).await
    }

    async fn after_commands(&mut self, calls: &[AnsweredCall]) -> Result<(), ModelError> {
        let written = self.situation.written();
        if written.is_empty() {
            let may_be_work =
                calls.iter().any(has_failed) || commands::reports_failure(&self.situation.prompt);
            let is_work = may_be_work && self.sort().await? == Kind::Work;
            return if is_work { self.choose_files().await } else { self.report(calls).await };
        }
        let failure = self.situation.failure().filter(|_| calls.iter().any(has_failed));
        match failure {
            Some(failure) if self.situation.failures() <= CORRECTIONS => {
                // The command may have changed files that it names.
                if written.iter().all(|name| self.situation.project.texts.contains_key(name)) {
                    return self.write_files(&written, Some(&failure)).await;
                }
                for name in &written {
                    self.requests.call("file_read", &json!({ "path": name }));
                }
            }
            _ => self.conclude(),
        }
        Ok(())
    }

    /// Answers from the output of commands that the prompt asked to run.
    async fn report(&mut self, calls: &[AnsweredCall]) -> Result<(), ModelError> {
        let mut messages = self.conversation();
        let mut output = String::new();
        for call in calls {
            let command = argument(call, "command").unwrap_or_default();
            let _ = writeln!(output, "`{command}` printed:\n{}", excerpt(call));
        }
        messages.push(user(format!("{output}{REPORT}")));
        self.requests.stream_answer(messages, ANSWER_TOKENS).await
    }

    /// States what was done. The model is not asked: it would claim more.
    fn conclude(&mut self) {
        let mut text = String::new();
        let written = self.situation.written();
        if !written.is_empty() {
            let _ = write!(text, "Changed {}.", quoted_list(&written));
        }
        for call in self.situation.rounds.last().into_iter().flatten().filter(|call| call.name == "bash") {
            let command = argument(call, "command").unwrap_or_default();
            let outcome = match (has_failed(call), is_refused(call)) {
                (true, _) => "failed",
                (false, true) => "was not run",
                (false, false) => "succeeded",
            };
            let _ = write!(text, " `{command}` {outcome}.");
        }
        self.requests.say(text.trim_start());
    }

    /// The conversation up to the prompt.
    fn conversation(&self) -> Vec<Message> {
        self.situation.conversation(self.requests.messages()).to_vec()
    }
}

/// Whether a file was read to answer a question: then only its beginning is read.
fn is_for_question(call: &AnsweredCall) -> bool {
    let limit = call.arguments.as_ref().ok().and_then(|arguments| arguments.get("limit")?.as_u64());
    limit == Some(QUESTION_LINES)
}

fn quoted_list(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
