//! A project's skills and commands as items of trust.

use super::{
    candidates::{Candidate, Candidates},
    command_file::CommandFile,
    finder::SkillFinder,
    loaded::FILE,
    manifest,
};
use crate::{CheckedItem, ItemKind, TrustItem};
use futures::future::join_all;
use system::AbsPath;

/// Makes an item from a candidate of a project and its text.
pub(super) type ItemOf = fn(&Candidate, &AbsPath, &str) -> TrustItem;

/// Returns the skills and commands of a finder's project, each with its trust, and the problems
/// with those that cannot be read.
pub async fn project_skills(finder: &SkillFinder) -> (Vec<CheckedItem>, Vec<String>) {
    let Candidates { skills, commands, mut problems } = finder.candidates(None).await;
    let mut items = Vec::new();
    let skills = skills.iter().map(|candidate| (candidate, skill_item as ItemOf));
    let commands = commands.iter().map(|candidate| (candidate, command_item as ItemOf));
    let read = skills.chain(commands).map(async |(candidate, item)| {
        (candidate, finder.read(candidate).await.map(|text| item(candidate, &finder.project, &text)))
    });
    for (candidate, item) in join_all(read).await {
        match item {
            Ok(item) => items.push(item),
            Err(why) => problems.push(format!("{}: {why}", candidate.path)),
        }
    }
    (finder.trust.check(&finder.project, items).await, problems)
}

/// Returns the item of a skill of the project: the text of its SKILL.md and all its files.
pub(super) fn skill_item(candidate: &Candidate, project: &AbsPath, text: &str) -> TrustItem {
    let mut shown = match manifest::parse(text, &candidate.name) {
        Ok(skill) => {
            let mut shown = vec![format!("instructs the model: {}", skill.manifest.description)];
            if !skill.manifest.allowed_tools.is_empty() {
                let tools = skill.manifest.allowed_tools.join(", ");
                shown.push(format!("names tools, which loosens no permission: {tools}"));
            }
            shown
        }
        Err(why) => vec![format!("not usable: {why}")],
    };
    shown.push(format!("text: {} lines", text.lines().count()));
    TrustItem {
        kind: ItemKind::Skill,
        source: source(&candidate.path, project, Some(FILE)),
        name: candidate.name.clone(),
        parts: vec![text.to_owned()],
        words: Vec::new(),
        tree: candidate.root.clone().ok(),
        shown,
    }
}

/// Returns the item of a command of the project: the text of its file.
pub(super) fn command_item(candidate: &Candidate, project: &AbsPath, text: &str) -> TrustItem {
    let about = match CommandFile::parse(text) {
        Ok(command) => format!("prompts the model: {}", command.description),
        Err(why) => format!("not usable: {why}"),
    };
    TrustItem {
        kind: ItemKind::Command,
        source: source(&candidate.path, project, None),
        name: candidate.name.clone(),
        parts: vec![text.to_owned()],
        words: Vec::new(),
        tree: None,
        shown: vec![about, format!("text: {} lines", text.lines().count())],
    }
}

fn source(path: &AbsPath, project: &AbsPath, file: Option<&str>) -> String {
    let path = path.relative_to(project).unwrap_or(path.as_str());
    file.map_or_else(|| path.to_owned(), |file| format!("{path}/{file}"))
}
