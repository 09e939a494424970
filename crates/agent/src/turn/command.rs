//! Turns that call no model: a slash command is executed and answered.

use super::{
    Turn, memory_commands, overviews,
    shorten::{SummaryContext, SummaryOutcome, can_sum_up},
};
use crate::{
    Checkpoint, GoalError, ModelResponse, RewindError, SessionEvent, ShellUpdate, StopReason, Task,
    TurnError,
    checkpoint::{Timeline, restore},
    goal,
    history::{compaction::budget::ContextBudget, measure},
    input::commands::{self, Action, GoalCommand},
    limits::{SHELL_SHOWN_BYTES, SHELL_SHOWN_LINES, TITLE_CHARS},
    prompt::briefing::{instruction_files, recalled_memories},
    session::{Session, outcome::Reply},
    task_tree,
    text::{cut, sanitise::label},
};

impl Turn<'_> {
    /// Executes a slash command and answers it. A command that fails is refused: the turn does not
    /// fail, so what an earlier turn left unanswered can still be asked again.
    pub(super) async fn command(&mut self, action: Action, is_typed: bool) -> Result<StopReason, TurnError> {
        if let Action::Run(line) = action {
            return self.run_command(&line, is_typed).await;
        }
        let mut changes = Vec::new();
        let reply = match self.reply(action, &mut changes).await {
            Ok(Some(reply)) => reply,
            Ok(None) => return Ok(StopReason::Cancelled),
            Err(TurnError::Model(error)) => Reply::refused(format!("Nothing was changed: {error}")),
            Err(error) => return Err(error),
        };
        let stop = self.answer_locally(reply);
        // These events follow the answer: they inform the model, which sees neither the command nor
        // its answer.
        self.progress.last.extend(changes);
        Ok(stop)
    }

    /// Executes a slash command; `None` if it was cancelled. Adds the events that follow the answer
    /// to `changes`.
    async fn reply(
        &mut self,
        action: Action,
        changes: &mut Vec<SessionEvent>,
    ) -> Result<Option<Reply>, TurnError> {
        let nothing = |why: &dyn std::fmt::Display| Reply::refused(format!("Nothing was changed: {why}."));
        Ok(Some(match action {
            Action::PermissionMode(mode, _) => {
                self.controls.set_permission_mode(mode).await?;
                Reply::done(format!("Permission mode is now {}. {}.", mode.label(), mode.description()))
            }
            Action::Mode(mode, _) => {
                self.controls.set_mode(mode).await?;
                Reply::done(format!("Mode is now {}. {}.", mode.label(), mode.description()))
            }
            Action::Model(id) => {
                self.session.model(&id).await?;
                self.controls.set_model(&id).await?;
                Reply::done(format!("The model is now {id}."))
            }
            Action::ListModels => Reply::done(overviews::models(self.session, &self.controls.state().model)),
            Action::ListCheckpoints => Reply::done(checkpoints_text(self.session).await?),
            Action::Rewind(target) => {
                match restore(self.session, &self.controls.state(), target, self.cancel).await {
                    Ok((report, events)) => {
                        *changes = events;
                        Reply::done(report.to_string())
                    }
                    Err(RewindError::Store(error)) => return Err(error.into()),
                    Err(RewindError::Cancelled) => return Ok(None),
                    Err(error) => nothing(&error),
                }
            }
            Action::Compact(focus) => return self.compact(focus.as_deref()).await,
            Action::Context => Reply::done(self.context_text().await?),
            Action::Usage => Reply::done(overviews::usage(&self.session.conversation())),
            Action::Network => Reply::done(self.session.conversation().network().text()),
            Action::Sessions(words) => Reply::done(overviews::sessions(self.session, words).await?),
            Action::Rename(title) => self.rename(&title).await?,
            Action::Run(_) => nothing(&"write a command after `/run`"),
            Action::Skills => Reply::done(overviews::skills(self.session).await),
            Action::ListMemories(query) => Reply::done(memory_commands::list(self.session, query).await),
            Action::Forget(id) => memory_commands::forget(self.session, id).await,
            Action::Agents => Reply::done(agents_text(self.session)),
            Action::Goal(GoalCommand::Show) => {
                Reply::done(goal::described(self.session.conversation().goal()))
            }
            Action::Goal(GoalCommand::Invalid(why)) | Action::Invalid(why) => nothing(&why),
            Action::Goal(GoalCommand::Change(change)) => {
                let mode = self.controls.state().mode;
                match self.session.change_goal(mode, change, true).await {
                    Ok(goal) => Reply::done(goal::described(goal.as_ref())),
                    Err(GoalError::Store(error)) => return Err(error.into()),
                    Err(error) => nothing(&error),
                }
            }
            Action::ListShells => Reply::done(shells_text(&self.session.shells().all())),
            Action::ShowShell(id) => match self.session.shells().show(&id) {
                Ok((shell, output)) => {
                    let output = cut::last_lines(&output, SHELL_SHOWN_LINES, SHELL_SHOWN_BYTES);
                    let output = output.replace("```", "` ` `");
                    Reply::done(format!("{}```\n{output}\n```\n", shells_text(&[shell])))
                }
                Err(why) => Reply::refused(why),
            },
            Action::StopShell(id) => match self.session.shells().stop(&id).await {
                Ok(stopped) if stopped.is_empty() => Reply::done("No background command was running."),
                Ok(stopped) => Reply::done(shells_text(&stopped)),
                Err(why) => Reply::refused(why),
            },
            Action::ListTasks => Reply::done(tasks_text(self.session.conversation().tasks())),
            Action::ClearTasks => match self.session.conversation().tasks().len() {
                0 => Reply::done("There are no tasks."),
                count => {
                    changes.push(SessionEvent::Tasks(Vec::new()));
                    Reply::done(format!("Cleared {count} tasks."))
                }
            },
            Action::Retry => Reply::refused("Nothing was asked again: the last turn did not fail."),
            Action::Help => Reply::done(commands::help(&commands::all(self.session.toolbox().sources()))),
        }))
    }

    /// Sets the title of the session.
    async fn rename(&self, title: &str) -> Result<Reply, TurnError> {
        let title = label(title, TITLE_CHARS);
        if title.is_empty() {
            return Ok(Reply::refused("Nothing was changed: write the new title after `/rename`."));
        }
        self.controls.set_title(title.clone()).await?;
        Ok(Reply::done(format!("The title is now: {title}")))
    }

    /// Answers with text of the runtime's own, and ends the turn.
    pub(super) fn answer_locally(&mut self, Reply { text, outcome }: Reply) -> StopReason {
        self.progress.command = Some(outcome);
        let (id, thought_id) = self.session.conversation().next_answer();
        self.session.notify(SessionEvent::MessageDelta { id: id.clone(), text: text.clone() });
        let response = ModelResponse::from_text(id, thought_id, String::new(), text);
        self.progress.last.push(SessionEvent::ModelResponse(response));
        StopReason::EndTurn
    }

    /// Summarises the conversation at the user's request. Returns the answer, or `None` if
    /// cancelled.
    async fn compact(&mut self, focus: Option<&str>) -> Result<Option<Reply>, TurnError> {
        let state = self.controls.state();
        let model = self.session.model(&state.model).await?;
        let around = measure::around(&self.frame(model.info(), &state));
        let with = SummaryContext { model: model.as_ref(), around };
        let Some(room) = ContextBudget::of(model.info(), &self.session.settings().limits.context) else {
            let why = format!("Nothing was done: the context size of {} is unknown.", state.model);
            return Ok(Some(Reply::refused(why)));
        };
        Ok(Some(match self.sum_up(&with, room, focus).await? {
            SummaryOutcome::Shorter { before, after } => {
                let text =
                    format!("The conversation was summarised: about {before} tokens before, {after} now.");
                Reply::done(text)
            }
            SummaryOutcome::Nothing if !can_sum_up(model.as_ref()) => Reply::refused(format!(
                "Nothing was done: {} is not a language model and cannot summarise.",
                state.model
            )),
            SummaryOutcome::Nothing => {
                Reply::done("Nothing was done: there is too little before the last turns to summarise.")
            }
            SummaryOutcome::Failed(why) => {
                Reply::refused(format!("The conversation stays as it was: {why}."))
            }
            SummaryOutcome::Cancelled => return Ok(None),
        }))
    }

    /// Describes how full the context is.
    async fn context_text(&mut self) -> Result<String, TurnError> {
        let state = self.controls.state();
        let model = self.session.model(&state.model).await?;
        let around = measure::around(&self.frame(model.info(), &state));
        let conversation = self.session.conversation();
        let (used, messages) = (conversation.used(around), conversation.history().messages().len());
        let mut text = format!(
            "Each request sends about {used} tokens to {}: {messages} messages, and about {around} tokens of instructions and tools around them.",
            state.model
        );
        if let Some(room) = ContextBudget::of(model.info(), &self.session.settings().limits.context) {
            text.push_str(&room.described(
                used,
                self.session.settings().limits.context.auto_compact,
                can_sum_up(model.as_ref()),
            ));
        }
        let known = conversation.known();
        let files: Vec<_> = instruction_files(&known).map(|file| format!("`{file}`")).collect();
        if !files.is_empty() {
            text.push_str(&format!(" Instructions of the project among them: {}.", files.join(", ")));
        }
        if let Some(memories) = recalled_memories(&known) {
            text.push_str(&format!(" Memories among them: {memories}."));
        }
        Ok(text)
    }
}

/// Lists background commands for the user.
fn shells_text(shells: &[ShellUpdate]) -> String {
    if shells.is_empty() {
        return "There are no background commands.".to_owned();
    }
    let line = |shell: &ShellUpdate| {
        let keeps = if shell.keeps { ", keeps running" } else { "" };
        format!("- `{}` {}{keeps}: `{}`\n", shell.id, shell.outcome(), shell.command.replace('`', "'"))
    };
    shells.iter().map(line).collect()
}

/// Lists the tasks for the user, in a block that keeps the tree's form.
fn tasks_text(tasks: &[Task]) -> String {
    match task_tree(tasks) {
        tree if tree.is_empty() => "There are no tasks.".to_owned(),
        tree => format!("```\n{}\n```\n", tree.replace("```", "` ` `")),
    }
}

fn agents_text(session: &Session) -> String {
    match session.subagents().map(|subagents| subagents.tree()).filter(|tree| !tree.is_empty()) {
        Some(tree) => format!("```\n{}\n```", tree.trim_end()),
        None => "This session has no subagents.".to_owned(),
    }
}

async fn checkpoints_text(session: &Session) -> Result<String, TurnError> {
    let checkpoints = Timeline::read(session.log().store(), session.id()).await?.checkpoints();
    if checkpoints.is_empty() {
        return Ok("No turn has changed a file yet.\n".to_owned());
    }
    let mut text = "Turns that changed files; `/rewind N` undoes the changes after turn N:\n\n".to_owned();
    for Checkpoint { turn, prompt, files } in checkpoints {
        let files: Vec<_> = files.iter().map(|file| format!("`{file}`")).collect();
        text.push_str(&format!("- {turn}: {prompt} ({})\n", files.join(", ")));
    }
    Ok(text)
}
