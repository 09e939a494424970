//! Where skills and commands are.

use system::AbsPath;

/// The user's directories that skills and commands are searched in.
#[derive(Debug, Clone)]
pub struct UserPlaces {
    /// Tiller's configuration directory.
    pub config: AbsPath,
    /// The user's home directory.
    pub home: AbsPath,
}

/// Whose an item is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// The user's.
    User,
    /// The project's: it is used only if it is trusted.
    Project,
}

impl Origin {
    /// Returns the word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

/// A directory that is searched.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) origin: Origin,
    pub(super) path: AbsPath,
}

/// The directories of skills in a project.
const PROJECT_SKILLS: [&str; 3] = [".tiller/skills", ".agents/skills", ".claude/skills"];
/// The directories of commands in a project.
const PROJECT_COMMANDS: [&str; 2] = [".tiller/commands", ".claude/commands"];

/// Returns the directories of skills, the most important first.
pub(super) fn of_skills(user: Option<&UserPlaces>, project: &AbsPath) -> Vec<Place> {
    let of_user = user.into_iter().flat_map(|UserPlaces { config, home }| {
        [config.join("skills"), home.join(".agents/skills"), home.join(".claude/skills")]
    });
    all(of_user, project, &PROJECT_SKILLS)
}

/// Returns the directories of commands, the most important first.
pub(super) fn of_commands(user: Option<&UserPlaces>, project: &AbsPath) -> Vec<Place> {
    let of_user = user.into_iter().map(|UserPlaces { config, .. }| config.join("commands"));
    all(of_user, project, &PROJECT_COMMANDS)
}

fn all(of_user: impl Iterator<Item = AbsPath>, project: &AbsPath, names: &[&str]) -> Vec<Place> {
    let of_user = of_user.map(|path| Place { origin: Origin::User, path });
    let of_project = names.iter().map(|name| Place { origin: Origin::Project, path: project.join(name) });
    of_user.chain(of_project).collect()
}
