//! The skills and commands of one session.

use super::{
    command_file::CommandFile,
    find::{Found, FoundState, SkillSet, find_skills},
    finder::SkillFinder,
    loaded::Skill,
    overview,
    places::Origin,
};
use crate::{CommandGroup, ReadableDirectories, Severity, SlashCommand, SourceNotice, input::commands};
use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::Notify;

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
    pub(super) fn new(finder: SkillFinder, readable: ReadableDirectories) -> Self {
        let (reading, commands_changed) = (tokio::sync::Mutex::default(), Notify::new());
        Self { finder, readable, state: Mutex::default(), reading, commands_changed }
    }

    /// Reads the directories again.
    pub(super) async fn refresh(&self) {
        let _one_at_a_time = self.reading.lock().await;
        let set = Arc::new(find_skills(&self.finder).await);
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

    /// Returns the current slash commands.
    pub(super) fn commands(&self) -> Vec<SlashCommand> {
        self.state().commands.clone()
    }

    /// Completes when the slash commands have changed. Cancel-safe.
    pub(super) async fn commands_changed(&self) {
        self.commands_changed.notified().await;
    }

    /// Notes that the session loaded a skill before. Its files become readable if the user still
    /// has a skill of that name.
    pub(super) fn recall(&self, name: &str) {
        let set = self.set();
        match skill_of(&set, name) {
            Some((found, skill)) => self.make_readable(found.origin, skill),
            None => drop(self.state().loaded_before.insert(name.to_owned())),
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
    pub(super) fn notices(&self) -> Vec<SourceNotice> {
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
