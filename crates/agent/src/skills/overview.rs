//! Texts about the skills and commands that were found.

use super::{
    command_file::CommandFile,
    find::{Found, FoundState, SkillSet},
    loaded::Skill,
    places::Origin,
};
use crate::limits::SKILL_NAMES_SHOWN;
use std::fmt::Write as _;

/// Returns the skills that models may load: the project's first, which are the most specific.
pub(super) fn for_models<'a>(set: &'a SkillSet) -> impl Iterator<Item = (&'a Found<Skill>, &'a Skill)> {
    let of = |origin| {
        let used = move |found: &&'a Found<Skill>| found.origin == origin && found.state == FoundState::Used;
        let content = |found: &'a Found<Skill>| Some((found, found.content.as_deref()?));
        set.skills.iter().filter(used).filter_map(content)
    };
    of(Origin::Project).chain(of(Origin::User)).filter(|(_, skill)| skill.manifest.started_by.model)
}

/// Returns the answer to `/skills`; `None` if there is nothing to list.
pub(super) fn text(set: &SkillSet) -> Option<String> {
    if set.skills.is_empty() && set.problems.is_empty() {
        return None;
    }
    let mut text = String::from("Skills:\n\n");
    for found in &set.skills {
        let about = found.content.as_ref().map(|skill| format!(": {}", skill.manifest.description));
        let problem = found.state.problem().map(|problem| format!(" — {}", crate::one_line(&problem)));
        let _ = writeln!(
            text,
            "- `{}` ({}, `{}`){}{}",
            crate::one_line(&found.name),
            found.origin.word(),
            crate::one_line(found.path.as_str()),
            about.unwrap_or_default(),
            problem.unwrap_or_default()
        );
    }
    for problem in &set.problems {
        let _ = writeln!(text, "- problem: {}", crate::one_line(problem));
    }
    text.push_str("\nStart one with `/NAME`; `/help` lists commands from files, too.\n");
    Some(text)
}

/// Returns a line for each item that is no valid skill or command.
pub(super) fn invalid(set: &SkillSet) -> Vec<String> {
    fn of<'a, T>(what: &'static str, found: &'a [Found<T>]) -> impl Iterator<Item = String> + 'a {
        found.iter().filter_map(move |found| match &found.state {
            FoundState::Invalid(why) => {
                let path = crate::one_line(found.path.as_str());
                Some(format!("The {what} {path} is not used: {}", crate::one_line(why)))
            }
            _ => None,
        })
    }
    of("skill", &set.skills).chain(of("command", &set.commands)).collect()
}

/// Returns a line on what the project brings that is not trusted, if anything.
pub(super) fn untrusted(set: &SkillSet) -> Option<String> {
    fn names<T>(found: &[Found<T>]) -> impl Iterator<Item = String> + '_ {
        let untrusted = found.iter().filter(|found| matches!(found.state, FoundState::Untrusted(_)));
        untrusted.map(|found| crate::one_line(&found.name))
    }
    let all: Vec<_> = names(&set.skills).chain(names::<CommandFile>(&set.commands)).collect();
    if all.is_empty() {
        return None;
    }
    let shown = all.iter().take(SKILL_NAMES_SHOWN).cloned().collect::<Vec<_>>().join(", ");
    let more = match all.len().saturating_sub(SKILL_NAMES_SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!(
        "Skills and commands of the project are not used ({shown}{more}): not trusted; review them with `tiller trust`"
    ))
}
