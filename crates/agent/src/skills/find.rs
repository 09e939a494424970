//! Finds skills and commands on disk, and decides which may be used.

use super::{
    candidates::{Candidate, Candidates, Search},
    command_file::CommandFile,
    items::{ItemOf, command_item, skill_item},
    loaded::{FILE, Skill},
    manifest,
    places::{self, Origin, UserPlaces},
};
use crate::{FolderTrust, TrustState, found_rules, limits::SKILL_BYTES};
use futures::future::join_all;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use system::{AbsPath, FileKind, FoundRules, System, read_found};

/// The ids of the project's items that were ever trusted; the reason if that is unknown.
type Known<'a> = Result<&'a BTreeSet<String>, &'a String>;

/// Finds the skills and commands of a user and of one project. Reads the disk of this machine.
#[derive(Clone)]
pub struct SkillFinder {
    /// Reads the directories.
    pub system: Arc<dyn System>,
    /// The user's directories; `None` searches the project only.
    pub user: Option<UserPlaces>,
    /// Decides which of the project's items may be used.
    pub trust: FolderTrust,
    /// The project's directory.
    pub project: AbsPath,
}

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

impl SkillFinder {
    /// Finds all skills and commands. Of two with the same name, the user's is used, then the one
    /// of the more important directory.
    pub async fn find(&self) -> SkillSet {
        let known = self.trust.known(&self.project).await;
        let Candidates { skills, commands, problems } = self.candidates(self.user.as_ref()).await;
        let skills = skills.into_iter().map(|candidate| self.skill(candidate, known.as_ref()));
        let commands = commands.into_iter().map(|candidate| self.command(candidate, known.as_ref()));
        let (mut skills, mut commands) = futures::join!(join_all(skills), join_all(commands));
        hide_repeated(&mut skills);
        hide_repeated(&mut commands);
        SkillSet { skills, commands, problems }
    }

    /// Returns what may be a skill or a command of the user or the project; without a user, of the
    /// project only.
    pub(super) async fn candidates(&self, user: Option<&UserPlaces>) -> Candidates {
        let search = Search { system: self.system.as_ref(), project: &self.project };
        let mut problems = Vec::new();
        let skills = search.skills(places::of_skills(user, &self.project), &mut problems).await;
        let commands = search.commands(places::of_commands(user, &self.project), &mut problems).await;
        Candidates { skills, commands, problems }
    }

    /// Reads the file of a candidate. Links must not lead out of its directory.
    pub(super) async fn read(&self, candidate: &Candidate) -> Result<String, String> {
        let root = candidate.root.as_ref().map_err(Clone::clone)?;
        let size = self.system.metadata(&candidate.file).await.map_err(|error| error.to_string())?.size;
        if size > SKILL_BYTES as u64 {
            return Err(format!("it is larger than {SKILL_BYTES} bytes"));
        }
        let file = match candidate.origin {
            Origin::User => self.system.resolve(&candidate.file).await.map_err(|error| error.to_string())?,
            Origin::Project => candidate.file.clone(),
        };
        let rules = FoundRules { any_name: true, ..found_rules(root, &[], SKILL_BYTES) };
        let read = read_found(self.system.as_ref(), root, &file, &rules).await;
        let bytes = read.map_err(|error| error.to_string())?.ok_or("it no longer exists")?;
        String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())
    }

    /// Reads an item of the project, if it is trusted.
    async fn trusted(
        &self,
        candidate: &Candidate,
        known: Known<'_>,
        item: ItemOf,
    ) -> Result<String, FoundState> {
        if candidate.origin == Origin::User {
            return self.read(candidate).await.map_err(FoundState::Invalid);
        }
        let item_of = |text: &str| item(candidate, &self.project, text);
        match known {
            Err(why) => return Err(FoundState::Untrusted(TrustState::Unknown(why.clone()))),
            // The many files of an item that was never trusted are not read.
            Ok(known) if !known.contains(&item_of("").id()) => {
                return Err(FoundState::Untrusted(TrustState::Untrusted));
            }
            Ok(_) => {}
        }
        let text = self.read(candidate).await.map_err(FoundState::Invalid)?;
        match self.trust.state(&self.project, &item_of(&text)).await {
            TrustState::Trusted => Ok(text),
            state => Err(FoundState::Untrusted(state)),
        }
    }

    async fn skill(&self, candidate: Candidate, known: Known<'_>) -> Found<Skill> {
        let content = match self.trusted(&candidate, known, skill_item).await {
            Ok(text) => parsed_skill(&candidate, &text).map_err(FoundState::Invalid),
            Err(state) => Err(state),
        };
        let mut found = found(candidate, content);
        if let Some(skill) = &found.content {
            found.name.clone_from(&skill.manifest.name);
        }
        found
    }

    async fn command(&self, candidate: Candidate, known: Known<'_>) -> Found<CommandFile> {
        let content = match self.trusted(&candidate, known, command_item).await {
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
