//! The source of a session's skills and commands.

use super::{
    command_file::CommandFile,
    find::{Found, FoundState, SkillFinder, SkillSet},
    loaded::{self, FILE, Skill},
    overview,
    places::{Origin, UserPlaces},
    tool::{self, SkillTool},
};
use crate::{
    AnyTool, CommandGroup, Content, FolderTrust, Offer, ReadableDirectories, Refused, SessionScope, Severity,
    SkillSummary, SlashCommand, SourceNotice, ToolProvider, ToolSource, input::commands,
    limits::SKILLS_HEAD_START, text::file_uri::file_uri,
};
use async_trait::async_trait;
use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use system::System;
use tokio::sync::Notify;

/// Gives each session the user's skills and commands, and those of its project that are trusted.
pub struct SkillProvider {
    /// Reads the disk of this machine.
    pub system: Arc<dyn System>,
    /// The user's directories.
    pub user: UserPlaces,
    /// Decides which of a project's items may be used.
    pub trust: FolderTrust,
}

impl ToolProvider for SkillProvider {
    fn open(&self, session: &SessionScope) -> Arc<dyn ToolSource> {
        let finder = SkillFinder {
            system: self.system.clone(),
            user: Some(self.user.clone()),
            trust: self.trust.clone(),
            project: session.cwd.clone(),
        };
        let skills = Arc::new(SessionSkills::new(finder, session.readable.clone()));
        let first = Arc::downgrade(&skills);
        tokio::spawn(async move {
            // Let the session/new response go first.
            tokio::time::sleep(SKILLS_HEAD_START).await;
            if let Some(skills) = first.upgrade() {
                skills.refresh().await;
            }
        });
        let tool = Arc::new(SkillTool(skills.clone()));
        Arc::new(SkillSource { skills, tool })
    }
}

/// The skills and commands of one session.
pub(super) struct SessionSkills {
    finder: SkillFinder,
    readable: ReadableDirectories,
    state: Mutex<State>,
    /// Held while the directories are read, so that an older result does not replace a newer one.
    reading: tokio::sync::Mutex<()>,
    commands_changed: Notify,
}

#[derive(Default)]
struct State {
    set: Arc<SkillSet>,
    commands: Vec<SlashCommand>,
    /// Names of skills that the session's earlier prompts and calls loaded.
    loaded_before: BTreeSet<String>,
    /// The notices already shown.
    shown: BTreeSet<String>,
}

impl SessionSkills {
    fn new(finder: SkillFinder, readable: ReadableDirectories) -> Self {
        let (reading, commands_changed) = (tokio::sync::Mutex::default(), Notify::new());
        Self { finder, readable, state: Mutex::default(), reading, commands_changed }
    }

    /// Reads the directories again.
    pub(super) async fn refresh(&self) {
        let _one_at_a_time = self.reading.lock().await;
        let set = Arc::new(self.finder.find().await);
        let commands = slash_commands(&set);
        let mut state = self.state();
        for name in std::mem::take(&mut state.loaded_before) {
            if let Some((found, skill)) = skill_of(&set, &name) {
                self.make_readable(found.origin, skill);
            }
        }
        state.set = set;
        if state.commands != commands {
            state.commands = commands;
            self.commands_changed.notify_one();
        }
    }

    pub(super) fn set(&self) -> Arc<SkillSet> {
        self.state().set.clone()
    }

    /// Returns a skill's text for the model, and makes its files readable.
    pub(super) async fn load(&self, found: &Found<Skill>, skill: &Skill, arguments: Option<&str>) -> String {
        self.make_readable(found.origin, skill);
        skill.text(self.finder.system.as_ref(), arguments).await
    }

    /// Lets tools read the files of a user's skill. Those of a project are inside it.
    fn make_readable(&self, origin: Origin, skill: &Skill) {
        if origin == Origin::User {
            self.readable.add(skill.directory.clone());
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a notice for each new problem, and one about what is not trusted.
    fn notices(&self) -> Vec<SourceNotice> {
        let mut state = self.state();
        let mut titles = state.set.problems.clone();
        titles.extend(overview::invalid(&state.set));
        titles.extend(overview::untrusted(&state.set));
        titles.retain(|title| state.shown.insert(title.clone()));
        let notice = |title| SourceNotice { severity: Severity::Warning, title, description: None };
        titles.into_iter().map(notice).collect()
    }
}

/// Returns the used skill of a name.
pub(super) fn skill_of<'a>(set: &'a SkillSet, name: &str) -> Option<(&'a Found<Skill>, &'a Skill)> {
    let found = set.skills.iter().find(|found| found.state == FoundState::Used && found.name == name)?;
    Some((found, found.content.as_deref()?))
}

fn command_of<'a>(set: &'a SkillSet, name: &str) -> Option<(&'a Found<CommandFile>, &'a CommandFile)> {
    let found = set.commands.iter().find(|found| found.state == FoundState::Used && found.name == name)?;
    Some((found, found.content.as_deref()?))
}

/// Returns the slash commands: the user's skills and commands, then the project's. The first one
/// keeps a name, and built-in commands keep theirs.
fn slash_commands(set: &SkillSet) -> Vec<SlashCommand> {
    let mut all: Vec<SlashCommand> = Vec::new();
    for origin in [Origin::User, Origin::Project] {
        let skills = set.skills.iter().filter(|found| is_used(found, origin)).filter_map(skill_command);
        let commands = set.commands.iter().filter(|found| is_used(found, origin)).filter_map(file_command);
        for command in skills.chain(commands) {
            let is_taken = all.iter().chain(commands::commands()).any(|known| known.name == command.name);
            if !is_taken {
                all.push(command);
            }
        }
    }
    all
}

fn is_used<T>(found: &Found<T>, origin: Origin) -> bool {
    found.origin == origin && found.state == FoundState::Used
}

fn skill_command(found: &Found<Skill>) -> Option<SlashCommand> {
    let manifest = &found.content.as_ref()?.manifest;
    manifest.started_by.user.then(|| SlashCommand {
        name: found.name.clone().into(),
        description: manifest.description.clone().into(),
        hint: manifest.hint.clone().map(Into::into),
        group: CommandGroup::Skill(crate::one_line(found.path.as_str())),
    })
}

fn file_command(found: &Found<CommandFile>) -> Option<SlashCommand> {
    let command = found.content.as_ref()?;
    Some(SlashCommand {
        name: found.name.clone().into(),
        description: command.description.clone().into(),
        hint: command.hint.clone().map(Into::into),
        group: CommandGroup::File(crate::one_line(found.path.as_str())),
    })
}

struct SkillSource {
    skills: Arc<SessionSkills>,
    /// The same tool in each offer, so that the list of tools stays the same.
    tool: Arc<SkillTool>,
}

#[async_trait]
impl ToolSource for SkillSource {
    async fn offer(&self) -> Offer {
        let set = self.skills.set();
        let skills: Vec<_> = overview::for_models(&set).map(summary).collect();
        let tool = (!skills.is_empty()).then(|| self.tool.clone() as Arc<dyn AnyTool>);
        Offer { tools: tool.into_iter().collect(), notices: self.skills.notices(), skills }
    }

    async fn refresh(&self) {
        self.skills.refresh().await;
    }

    fn grows(&self) -> bool {
        false
    }

    fn commands(&self) -> Vec<SlashCommand> {
        self.skills.state().commands.clone()
    }

    async fn commands_changed(&self) {
        self.skills.commands_changed.notified().await;
    }

    async fn expand_command(
        &self,
        command: &str,
        arguments: &str,
        _refused: &Refused<'_>,
    ) -> Option<Result<Vec<Content>, String>> {
        let group = self.commands().into_iter().find(|known| known.name == command)?.group;
        let set = self.skills.set();
        let (file, text) = match group {
            CommandGroup::Skill(_) => {
                let (found, skill) = skill_of(&set, command)?;
                let text = self.skills.load(found, skill, Some(arguments)).await;
                let intro = format!("The user starts the skill {command}. Follow its instructions:");
                (skill.directory.join(FILE), format!("{intro}\n\n{text}"))
            }
            _ => {
                let (found, file) = command_of(&set, command)?;
                let intro = format!("The user's command /{command} stands for this prompt:");
                (found.path.clone(), format!("{intro}\n\n{}", file.prompt(arguments)))
            }
        };
        let mime_type = Some("text/markdown".to_owned());
        Some(Ok(vec![Content::Resource { uri: file_uri(&file), mime_type, text }]))
    }

    async fn skills(&self) -> Option<String> {
        overview::text(&self.skills.set())
    }

    fn recall(&self, tool: &str, result: &str) {
        if tool == tool::NAME {
            self.recall_loaded(result);
        }
    }

    fn recall_prompt(&self, content: &[Content]) {
        for item in content {
            if let Content::Resource { text, .. } = item {
                self.recall_loaded(text);
            }
        }
    }
}

impl SkillSource {
    /// Notes that the session loaded a skill before. Its files become readable again if the user
    /// still has a skill of that name.
    fn recall_loaded(&self, text: &str) {
        if let Some(name) = loaded::named(text) {
            let set = self.skills.set();
            match skill_of(&set, name) {
                Some((found, skill)) => self.skills.make_readable(found.origin, skill),
                None => drop(self.skills.state().loaded_before.insert(name.to_owned())),
            }
        }
    }
}

fn summary((found, skill): (&Found<Skill>, &Skill)) -> SkillSummary {
    SkillSummary { name: found.name.clone(), description: skill.manifest.description.clone() }
}
