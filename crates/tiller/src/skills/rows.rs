//! Skills and commands from files, for programs.

use agent::{CommandFile, Found, Skill};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The skills and the commands of a directory.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SkillList {
    /// The skills.
    pub(super) skills: Vec<SkillRow>,
    /// The commands from files.
    pub(super) commands: Vec<CommandRow>,
    /// What could not be read.
    pub(super) problems: Vec<String>,
}

/// Where a skill or a command was found.
#[derive(Debug, Serialize, JsonSchema)]
struct Place {
    /// Its name.
    name: String,
    /// What it belongs to, such as the user or the project.
    origin: &'static str,
    /// Its path.
    path: String,
    /// Whether it is used, or why not, in a word.
    state: &'static str,
    /// Why it is not used, in a sentence.
    problem: Option<String>,
}

/// A skill.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SkillRow {
    #[serde(flatten)]
    place: Place,
    #[serde(flatten)]
    manifest: Option<Manifest>,
}

/// What a skill says of itself.
#[derive(Debug, Serialize, JsonSchema)]
struct Manifest {
    #[serde(flatten)]
    about: About,
    #[serde(flatten)]
    conditions: Conditions,
    /// Its other fields.
    metadata: BTreeMap<String, String>,
    /// Whether a model may start it.
    model_starts: bool,
    /// Whether the user may start it.
    user_starts: bool,
    /// What is wrong with the file, though the skill can be used.
    warnings: Vec<String>,
}

/// What a skill or a command is for.
#[derive(Debug, Serialize, JsonSchema)]
struct About {
    /// What it does and when it is used.
    description: String,
    /// The arguments that it takes.
    argument_hint: Option<String>,
}

/// Under which conditions a skill is used.
#[derive(Debug, Serialize, JsonSchema)]
struct Conditions {
    /// Its licence.
    license: Option<String>,
    /// What it needs.
    compatibility: Option<String>,
    /// The tools that it names. They loosen no permission.
    allowed_tools: Vec<String>,
}

/// A command from a file.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CommandRow {
    #[serde(flatten)]
    place: Place,
    #[serde(flatten)]
    about: Option<About>,
}

/// One skill in full.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SkillAnswer {
    /// The skill.
    pub(super) skill: ShownSkill,
}

/// A skill with its text and its files.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ShownSkill {
    #[serde(flatten)]
    pub(super) row: SkillRow,
    /// The paths of its files.
    pub(super) files: Vec<String>,
    /// Its instructions.
    pub(super) body: String,
}

/// Skills that were checked.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CheckedSkills {
    /// The skills.
    pub(super) skills: Vec<CheckedSkill>,
}

/// The result of a check.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct CheckedSkill {
    /// The directory of the skill.
    pub(super) path: String,
    /// valid, usable or invalid.
    pub(super) state: &'static str,
    /// What is wrong with it.
    pub(super) problems: Vec<String>,
}

impl Place {
    fn of<T>(found: &Found<T>) -> Self {
        Self {
            name: found.name.clone(),
            origin: found.origin.word(),
            path: found.path.to_string(),
            state: found.state.word(),
            problem: found.state.problem(),
        }
    }
}

impl SkillRow {
    pub(super) fn of(found: &Found<Skill>) -> Self {
        Self { place: Place::of(found), manifest: found.content.as_deref().map(Manifest::of) }
    }
}

impl CommandRow {
    pub(super) fn of(found: &Found<CommandFile>) -> Self {
        let about = found.content.as_deref().map(|command| About {
            description: command.description.clone(),
            argument_hint: command.hint.clone(),
        });
        Self { place: Place::of(found), about }
    }
}

impl Manifest {
    fn of(skill: &Skill) -> Self {
        let manifest = &skill.manifest;
        Self {
            about: About { description: manifest.description.clone(), argument_hint: manifest.hint.clone() },
            conditions: Conditions {
                license: manifest.license.clone(),
                compatibility: manifest.compatibility.clone(),
                allowed_tools: manifest.allowed_tools.clone(),
            },
            metadata: manifest.metadata.clone(),
            model_starts: manifest.started_by.model,
            user_starts: manifest.started_by.user,
            warnings: skill.warnings.clone(),
        }
    }
}
