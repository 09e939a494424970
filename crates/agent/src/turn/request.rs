//! The parts of a request beside the conversation: the prefix, which is fixed once per model, and
//! briefings about later changes, which are messages of the conversation.

use super::{Turn, goal};
use crate::{
    Briefing, Effort, Freshness, Goal, GoalStatus, ModelInfo, ModelRequest, Prefix, RecalledMemories,
    SessionEvent, SessionState, Severity, ToolSpec, ToolSpecs,
    event::prefix::Known,
    history::conversation::{Conversation, GOAL_FACT, TASKS_FACT},
    limits::{INSTRUCTIONS_FILE_BYTES, INSTRUCTIONS_FOLDERS, MEMORIES_WAIT, SKILLS_SECTION_BYTES},
    prompt::briefing::{self, Fact, instruction_files},
    prompt::{self, Profile},
    session::Session,
    sources::{Offer, SourceNotice},
    task,
};
use std::{collections::BTreeSet, sync::Arc};
use system::AbsPath;

impl Turn<'_> {
    /// Collects the current tools of the sources, and takes a snapshot of the project at the start
    /// of a turn and of each step towards a goal. Returns notices about the sources.
    pub(super) async fn gather(&mut self, begins: bool) -> Vec<SourceNotice> {
        let sources = self.session.toolbox().sources().clone();
        let below = self.folders_below();
        let around = async {
            if !begins && below == self.snapshot.below {
                return None;
            }
            let rules = self.session.gate().found(INSTRUCTIONS_FILE_BYTES);
            let settings = self.session.settings();
            let (user, shared) = (&settings.prompt.user_instructions, &settings.sandbox.shared);
            let (system, cwd) = (self.session.system().as_ref(), self.session.cwd());
            Some(prompt::survey(system, cwd, below, user, &rules, shared).await)
        };
        let (Offer { tools, notices, skills }, around) = futures::join!(sources.offer(), around);
        self.session.toolbox_mut().take_offer(tools);
        self.skills = skills;
        if let Some(around) = around {
            self.snapshot = around;
        }
        notices
    }

    /// Returns the folders below the session's directory with files that the session works on.
    fn folders_below(&self) -> BTreeSet<AbsPath> {
        let conversation = self.session.conversation();
        let cwd = self.session.cwd();
        let folders = conversation.files().filter(|file| file.starts_with(cwd)).flat_map(|file| {
            std::iter::successors(file.parent(), AbsPath::parent).take_while(|folder| folder != cwd)
        });
        let folders: BTreeSet<_> = folders.collect();
        folders.into_iter().take(INSTRUCTIONS_FOLDERS).collect()
    }

    /// Returns a request to a model without the conversation.
    pub(super) fn frame(&mut self, model: &ModelInfo, state: &SessionState) -> ModelRequest {
        let prefix = self.prefix(model, state);
        ModelRequest {
            system: prefix.system.to_string(),
            messages: Vec::new(),
            tools: prefix.tools.clone(),
            max_output: None,
            reasoning_effort: state.effort.map(Effort::id).map(str::to_owned),
            cache_key: Some(self.session.id().to_string()),
            answer_schema: None,
        }
    }

    /// Returns the prefix of requests to a model: the recorded one, or else one built from the
    /// current state.
    fn prefix(&mut self, model: &ModelInfo, state: &SessionState) -> Arc<Prefix> {
        if let Some(prefix) = self.session.conversation().prefix(&model.id) {
            return prefix.clone();
        }
        let profile = prompt::profile(model);
        let own = self.session.settings().prompt.system_prompt.clone();
        let mut system = own.unwrap_or_else(|| profile.system.to_owned());
        if let Some(append) = appended(self.session) {
            system.push_str(&format!("\n{append}\n"));
        }
        let apart = self.session.system().editor_is_remote();
        let toolbox = self.session.toolbox_mut();
        let tools = match profile.tools {
            Some(tools) => ToolSpecs::from(tools()),
            None if !profile.is_briefed => toolbox.chosen(apart, |tool| prompt::offered(tool, state.mode)),
            None => toolbox.listed(apart),
        };
        Arc::new(toolbox.share(Prefix { model: model.id.clone(), system: system.into(), tools }))
    }

    fn listed(&mut self) -> ToolSpecs {
        let apart = self.session.system().editor_is_remote();
        self.session.toolbox_mut().listed(apart)
    }

    /// Returns the tools that the model may call by name: those of the request, and those announced
    /// in briefings since.
    pub(super) fn callable(&mut self, model: &ModelInfo, request: &ModelRequest) -> ToolSpecs {
        let profile = prompt::profile(model);
        if profile.tools.is_some() || !profile.is_briefed { request.tools.clone() } else { self.listed() }
    }

    /// Records the prefix of requests to a model, and briefs the model on what it does not know
    /// yet. Both are stored while the model is called. `prompt` is the user's text.
    pub(super) async fn brief(&mut self, model: &ModelInfo, state: &SessionState, prompt: &str) {
        let mut events = self.unused_instructions();
        let profile = prompt::profile(model);
        if profile.is_briefed {
            events.extend(self.briefings(&profile, model, state, prompt).await);
        }
        if !events.is_empty() {
            self.session.store_also(events);
        }
    }

    /// Adds the files that a prompt names or refers to, for a model that would not read them
    /// itself.
    pub(super) async fn read_ahead(&mut self, model: &ModelInfo, prompt: &str, state: &SessionState) {
        if !prompt::profile(model).reads_ahead {
            return;
        }
        let system = self.session.system().clone();
        let gate = self.session.gate();
        let open = |path: &_, canonical: &_| gate.attaching(state, path, canonical);
        let files = self.session.files();
        let is_known = |path: &_, text: &str| matches!(files.freshness(path, Some(text)), Freshness::Fresh);
        let names = !self.session.conversation().has_been_answered();
        let ahead =
            prompt::read_ahead(system.as_ref(), self.session.cwd(), prompt, names, &open, &is_known).await;
        for (path, text) in &ahead.whole {
            files.saw(path, text);
        }
        let text = ahead.text.trim_end().to_owned();
        if !text.is_empty() {
            self.session.store_also(vec![SessionEvent::Briefing(Briefing { text, ..Briefing::default() })]);
        }
    }

    async fn briefings(
        &mut self,
        profile: &Profile,
        model: &ModelInfo,
        state: &SessionState,
        prompt: &str,
    ) -> Vec<SessionEvent> {
        let mut events = Vec::new();
        if self.session.conversation().prefix(&model.id).is_none() {
            let prefix = self.prefix(model, state);
            events.push(SessionEvent::Prefix(Prefix::clone(&prefix)));
        }
        let known = self.session.conversation().known();
        let prefix = self.prefix(model, state);
        let mut facts = self.facts(profile, &prefix, state, &known).await;
        let recalled = self.recalled_memories(profile, &known, prompt).await;
        facts.extend(recalled.as_ref().map(Fact::memories));
        if let Some(briefing) = briefing::briefing(facts, &known) {
            let files: Vec<_> = instruction_files(&briefing.facts).map(str::to_owned).collect();
            events.push(SessionEvent::Briefing(briefing));
            if !files.is_empty() {
                events.push(SessionEvent::Notice {
                    severity: Severity::Info,
                    title: format!(
                        "Instructions of the project that the model was given: {}",
                        files.join(", ")
                    ),
                    description: None,
                });
            }
        }
        if let Some(RecalledMemories { ids, .. }) = recalled {
            let numbers: Vec<_> = ids.iter().map(ToString::to_string).collect();
            events.push(SessionEvent::Notice {
                severity: Severity::Info,
                title: format!("Memories that the model was given: {}", numbers.join(", ")),
                description: Some("/memories lists them; /forget #N deletes one.".to_owned()),
            });
            self.progress.surfaced.extend(ids);
        }
        if let Some((text, delivered)) =
            self.session.subagents().and_then(|subagents| subagents.take_results())
        {
            events.push(SessionEvent::Briefing(Briefing { text, ..Briefing::default() }));
            events.extend(delivered);
        }
        if let Some(news) = self.session.shells().take_ended() {
            let text = format!("<background>\n{}\n</background>", prompt::within("background", &news));
            events.push(SessionEvent::Briefing(Briefing { text, ..Briefing::default() }));
        }
        events
    }

    /// Returns the memories for a session whose model has no facts yet: at its first request, and
    /// after a compaction. Without an answer from the store the session goes on without memories.
    async fn recalled_memories(
        &self,
        profile: &Profile,
        known: &Known,
        prompt: &str,
    ) -> Option<RecalledMemories> {
        if profile.memories == 0 || !known.is_empty() {
            return None;
        }
        let memories = self.session.recall().memories?;
        let recalled = memories.recall(prompt, profile.memories);
        match tokio::time::timeout(MEMORIES_WAIT, recalled).await {
            Ok(Ok(recalled)) => recalled,
            Ok(Err(error)) => {
                tracing::warn!(session = %self.session.id(), %error, "the session goes on without memories");
                None
            }
            Err(_elapsed) => {
                tracing::warn!(session = %self.session.id(), "the memories were not read in time; the session goes on without them");
                None
            }
        }
    }

    /// Returns notices about instruction files that cannot be used, each once per session.
    fn unused_instructions(&mut self) -> Vec<SessionEvent> {
        let mut notices = Vec::new();
        for (file, why) in std::mem::take(&mut self.snapshot.instructions.unused) {
            let title = format!("The instructions of the project ({file}) are not used");
            if self.session.reports(&title) {
                tracing::warn!("{title}: {why}");
                let (severity, description) = (Severity::Warning, Some(why));
                notices.push(SessionEvent::Notice { severity, title, description });
            }
        }
        notices
    }

    /// Returns all facts that the model should know now.
    async fn facts(
        &mut self,
        profile: &Profile,
        prefix: &Prefix,
        state: &SessionState,
        known: &Known,
    ) -> Vec<Fact> {
        let (system, gate) = (self.session.system(), self.session.gate());
        let mut facts = prompt::facts(&prompt::Place {
            cwd: self.session.cwd(),
            additional_directories: gate.additional_directories(),
            mode: state.mode,
            system: system.as_ref(),
            commands: gate.commands_run(state.mode).await,
            snapshot: &self.snapshot,
        });
        let instructions = self.snapshot.instructions.facts(profile.instructions);
        facts.extend(briefing::of_lost_instructions(&instructions, known));
        facts.extend(instructions);
        facts.push(of_append(appended(self.session), prefix, known));
        let conversation = self.session.conversation();
        facts.extend(of_tasks(&conversation).into_iter().chain(of_goal(conversation.goal())));
        if profile.tools.is_none() {
            // A quarter of what instructions may take.
            let bytes = (profile.instructions / 4).min(SKILLS_SECTION_BYTES);
            facts.extend(prompt::skills::facts(&self.skills, bytes, known));
            let now: Vec<ToolSpec> = self.listed().to_vec();
            facts.extend(briefing::of_tools(&prefix.tools, &now, known));
        }
        facts
    }
}

/// Returns the fact about the user's addition to the system prompt: it has no text while the system
/// prompt contains the addition.
fn of_append(append: Option<String>, prefix: &Prefix, known: &Known) -> Fact {
    const NAME: &str = "append";
    let Some(append) = append else {
        let text =
            "What the user's settings added to the system prompt, or said in a message, no longer holds.";
        return Fact::paragraph(NAME, "", text);
    };
    let value = briefing::hash(append.as_bytes());
    if prefix.system.ends_with(&format!("\n{append}\n")) && !known.contains_key(NAME) {
        return Fact::in_system_prompt(NAME, value);
    }
    Fact::paragraph(NAME, value, format!("The user's settings say from now on:\n{append}"))
}

/// Returns the fact about the goal; `None` if the model ended the work on it itself.
fn of_goal(goal: Option<&Goal>) -> Option<Fact> {
    let (value, text) = match goal {
        None => ("", "The user removed the goal.".to_owned()),
        Some(goal) => match goal.status {
            GoalStatus::Active => (goal.id.as_str(), goal::start_text(goal)),
            GoalStatus::Paused | GoalStatus::Interrupted => {
                ("", "The goal is paused: do not go on with it by yourself.".to_owned())
            }
            GoalStatus::Blocked | GoalStatus::BudgetLimited | GoalStatus::Complete => return None,
        },
    };
    Some(Fact::paragraph(GOAL_FACT, value, text))
}

/// Returns the fact about the open tasks; `None` if the conversation shows the current ones.
fn of_tasks(conversation: &Conversation) -> Option<Fact> {
    if conversation.shows_tasks() {
        return None;
    }
    let open = task::open_tree(conversation.tasks());
    let text = match open.is_empty() {
        true => "No task is open any more.".to_owned(),
        false => {
            format!("<tasks>\nThe open tasks of the plan:\n{}\n</tasks>", prompt::within("tasks", &open))
        }
    };
    Some(Fact::paragraph(TASKS_FACT, task::open_value(conversation.tasks()), text))
}

/// Returns the user's addition to the system prompt, from the settings.
fn appended(session: &Session) -> Option<String> {
    let append = session.settings().prompt.append_system_prompt.as_deref()?.trim().to_owned();
    (!append.is_empty()).then_some(append)
}
