//! Finds skills and commands on disk, and decides which may be used.

use super::{
    candidates::{Candidate, Candidates},
    command_file::CommandFile,
    finder::SkillFinder,
    items::{ItemOf, command_item, skill_item},
    loaded::{FILE, Skill},
    manifest,
    places::Origin,
};
use crate::{TrustState, limits::SKILL_BYTES};
use futures::future::join_all;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use system::{AbsPath, FileKind, System};

/// The skills and commands that were found, the most important first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillSet {
    /// The skills.
    pub skills: Vec<Found<Skill>>,
    /// The commands.
    pub commands: Vec<Found<CommandFile>>,
    /// Directories that could not be searched, each with the reason.
    pub problems: Vec<String>,
}

/// A skill or command that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found<T> {
    /// Its name; for a skill that was not read, that of its directory.
    pub name: String,
    /// Whose it is.
    pub origin: Origin,
    /// Its directory or file, as it was found.
    pub path: AbsPath,
    /// Whether it is used.
    pub state: FoundState,
    /// Its content, if it was read and is valid.
    pub content: Option<Arc<T>>,
}

/// Whether an item is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FoundState {
    /// It is used.
    Used,
    /// Another one of the same name, at this path, takes precedence.
    Hidden(AbsPath),
    /// It is the project's and is not trusted.
    Untrusted(TrustState),
    /// It cannot be used, for this reason.
    Invalid(String),
}

impl FoundState {
    /// Returns the name of the state.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Used => "used",
            Self::Hidden(_) => "hidden",
            Self::Untrusted(state) => state.word(),
            Self::Invalid(_) => "invalid",
        }
    }

    /// Returns why the item is not used; `None` if it is.
    pub fn problem(&self) -> Option<String> {
        match self {
            Self::Used => None,
            Self::Hidden(by) => Some(format!("hidden by {by}, which has the same name")),
            Self::Untrusted(state) => state.problem(),
            Self::Invalid(why) => Some(format!("not used: {why}")),
        }
    }
}

/// Finds all skills and commands. Of two with the same name, the user's is used, then the one of
/// the more important directory.
pub async fn find_skills(finder: &SkillFinder) -> SkillSet {
    let known = finder.trust.known(&finder.project).await;
    let Candidates { skills, commands, problems } = finder.candidates(finder.user.as_ref()).await;
    let judge = Judge { finder, known: known.as_ref() };
    let skills = skills.into_iter().map(|candidate| judge.skill(candidate));
    let commands = commands.into_iter().map(|candidate| judge.command(candidate));
    let (mut skills, mut commands) = futures::join!(join_all(skills), join_all(commands));
    hide_repeated(&mut skills);
    hide_repeated(&mut commands);
    SkillSet { skills, commands, problems }
}

/// Decides which candidates are used.
struct Judge<'a> {
    finder: &'a SkillFinder,
    /// The ids of the project's items that were ever trusted; the reason if that is unknown.
    known: Result<&'a BTreeSet<String>, &'a String>,
}

impl Judge<'_> {
    /// Reads an item, of the project only if it is trusted.
    async fn read(&self, candidate: &Candidate, item: ItemOf) -> Result<String, FoundState> {
        let SkillFinder { trust, project, .. } = self.finder;
        if candidate.origin == Origin::User {
            return self.finder.read(candidate).await.map_err(FoundState::Invalid);
        }
        match self.known {
            Err(why) => return Err(FoundState::Untrusted(TrustState::Unknown(why.clone()))),
            // The many files of an item that was never trusted are not read.
            Ok(known) if !known.contains(&item(candidate, project, "").id()) => {
                return Err(FoundState::Untrusted(TrustState::Untrusted));
            }
            Ok(_) => {}
        }
        let text = self.finder.read(candidate).await.map_err(FoundState::Invalid)?;
        match trust.state(project, &item(candidate, project, &text)).await {
            TrustState::Trusted => Ok(text),
            state => Err(FoundState::Untrusted(state)),
        }
    }

    async fn skill(&self, candidate: Candidate) -> Found<Skill> {
        let content = match self.read(&candidate, skill_item).await {
            Ok(text) => parsed_skill(&candidate, &text).map_err(FoundState::Invalid),
            Err(state) => Err(state),
        };
        let mut found = found(candidate, content);
        if let Some(skill) = &found.content {
            found.name.clone_from(&skill.manifest.name);
        }
        found
    }

    async fn command(&self, candidate: Candidate) -> Found<CommandFile> {
        let content = match self.read(&candidate, command_item).await {
            Ok(text) => CommandFile::parse(&text).map_err(FoundState::Invalid),
            Err(state) => Err(state),
        };
        found(candidate, content)
    }
}

fn found<T>(candidate: Candidate, content: Result<T, FoundState>) -> Found<T> {
    let Candidate { origin, name, path, .. } = candidate;
    match content {
        Ok(content) => {
            Found { name, origin, path, state: FoundState::Used, content: Some(Arc::new(content)) }
        }
        Err(state) => Found { name, origin, path, state, content: None },
    }
}

fn parsed_skill(candidate: &Candidate, text: &str) -> Result<Skill, String> {
    let directory = candidate.root.clone()?;
    Ok(Skill::new(manifest::parse(text, &candidate.name)?, directory))
}

/// Hides all but the first of the used items with the same name.
fn hide_repeated<T>(found: &mut [Found<T>]) {
    let mut first: BTreeMap<String, AbsPath> = BTreeMap::new();
    for item in found.iter_mut().filter(|item| item.state == FoundState::Used) {
        match first.get(&item.name) {
            Some(by) => item.state = FoundState::Hidden(by.clone()),
            None => drop(first.insert(item.name.clone(), item.path.clone())),
        }
    }
}

/// Reads the skill in a directory that the user named, trusted or not.
///
/// # Errors
///
/// Says why it is no usable skill.
pub async fn check_skill(system: &dyn System, directory: &AbsPath) -> Result<Skill, String> {
    let file = directory.join(FILE);
    let found = system.metadata(&file).await.map_err(|error| error.to_string())?;
    if found.kind != FileKind::File || found.size > SKILL_BYTES as u64 {
        return Err(format!("{file} is not a file of at most {SKILL_BYTES} bytes"));
    }
    let bytes = system.read(&file).await.map_err(|error| error.to_string())?;
    let text = String::from_utf8(bytes).map_err(|_| format!("{file} is not UTF-8 text"))?;
    let directory = system.resolve(directory).await.map_err(|error| error.to_string())?;
    let name = directory.file_name().unwrap_or_default();
    Ok(Skill::new(manifest::parse(&text, name)?, directory.clone()))
}
