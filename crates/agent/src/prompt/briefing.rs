//! Briefings: messages of Tiller to the model within the conversation. The first has all facts, the
//! later ones only those that changed.

use crate::{Briefing, RecalledMemories, ToolSpec, event::prefix::Known, tools::call_tool};
use serde_json::json;
use std::{collections::BTreeMap, fmt::Write as _};

/// Prefix of the names of facts about instruction files; the file follows.
const INSTRUCTIONS: &str = "instructions:";
/// The name of the fact about the memories that were sent; its value is their numbers.
const MEMORIES: &str = "memories";
/// Prefix of the names of facts about tools; the tool follows.
const TOOL: &str = "tool:";
/// Prefix of the names of facts about skills; the skill follows.
const SKILL: &str = "skill:";
/// Name of the fact about skills that are not listed.
const SKILLS_LEFT_OUT: &str = "skills left out";

/// A fact for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fact {
    name: String,
    /// Identifies the state of the fact: a different value is sent again. Empty if the subject is
    /// gone.
    value: String,
    text: Text,
}

/// How a fact is presented to the model.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Text {
    /// A line about its environment.
    Line(String),
    /// A separate paragraph.
    Paragraph(String),
    /// A newly available tool as one line of JSON, and whether `call_tool` is listed.
    Tool(String, bool),
    /// The name of a removed tool.
    ToolGone(String),
    /// A skill, or a remark on skills, on one line.
    Skill(String),
    /// The name of a removed skill.
    SkillGone(String),
    /// No text: the model has it from elsewhere.
    Nothing,
}

impl Fact {
    /// Creates a line about the environment.
    pub(crate) fn line(name: &str, value: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.to_owned(), value: value.into(), text: Text::Line(text.into()) }
    }

    /// Creates a paragraph; `value` identifies its content.
    pub(crate) fn paragraph(name: &str, value: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.to_owned(), value: value.into(), text: Text::Paragraph(text.into()) }
    }

    /// Creates a fact that the system prompt contains.
    pub(crate) fn in_system_prompt(name: &str, value: impl Into<String>) -> Self {
        Self { name: name.to_owned(), value: value.into(), text: Text::Nothing }
    }

    /// Creates a fact about an instruction file, with a hash of the whole file and the text shown.
    pub(crate) fn instructions(file: &str, hash: String, text: String) -> Self {
        Self { name: format!("{INSTRUCTIONS}{file}"), value: hash, text: Text::Paragraph(text) }
    }

    /// Creates a fact about a skill, described on one line.
    pub(crate) fn skill(name: &str, line: String) -> Self {
        Self { name: format!("{SKILL}{name}"), value: hash(line.as_bytes()), text: Text::Skill(line) }
    }

    /// Creates a fact about the number of skills that are not listed.
    pub(crate) fn skills_left_out(count: usize) -> Self {
        let (value, text) = match count {
            0 => (String::new(), Text::Nothing),
            count => {
                let line = format!("({count} more skills are not listed here; the user can start them)");
                (count.to_string(), Text::Skill(line))
            }
        };
        Self { name: SKILLS_LEFT_OUT.to_owned(), value, text }
    }

    /// Creates a fact about the memories for the session.
    pub(crate) fn memories(recalled: &RecalledMemories) -> Self {
        let ids: Vec<_> = recalled.ids.iter().map(ToString::to_string).collect();
        Self::paragraph(MEMORIES, ids.join(", "), recalled.text.clone())
    }

    fn tool(spec: &ToolSpec, value: String, through: bool) -> Self {
        let form =
            json!({ "name": spec.name, "description": spec.description, "parameters": spec.parameters });
        Self { name: format!("{TOOL}{}", spec.name), value, text: Text::Tool(form.to_string(), through) }
    }
}

/// Returns facts about tools that were added, changed or removed since the prefix was recorded and
/// since earlier briefings.
pub(crate) fn of_tools(listed: &[ToolSpec], now: &[ToolSpec], known: &Known) -> Vec<Fact> {
    let listed: BTreeMap<&str, String> =
        listed.iter().map(|spec| (spec.name.as_str(), hash_of(spec))).collect();
    let known_value = |name: &str| known.get(&format!("{TOOL}{name}")).or_else(|| listed.get(name)).cloned();
    let through = listed.contains_key(call_tool::NAME);
    let mut facts = Vec::new();
    for spec in now.iter().filter(|spec| spec.name != call_tool::NAME) {
        let value = hash_of(spec);
        if known_value(&spec.name).as_ref() != Some(&value) {
            facts.push(Fact::tool(spec, value, through));
        }
    }
    let names = known.keys().filter_map(|name| name.strip_prefix(TOOL)).chain(listed.keys().copied());
    let mut gone: Vec<&str> = names.filter(|name| now.iter().all(|spec| spec.name != *name)).collect();
    gone.sort_unstable();
    gone.dedup();
    gone.retain(|name| *name != call_tool::NAME && known_value(name).is_some_and(|value| !value.is_empty()));
    facts.extend(gone.into_iter().map(|name| Fact {
        name: format!("{TOOL}{name}"),
        value: String::new(),
        text: Text::ToolGone(name.to_owned()),
    }));
    facts
}

/// Returns facts about instruction files that the model knows and that are gone.
pub(crate) fn of_lost_instructions(now: &[Fact], known: &Known) -> Vec<Fact> {
    let lost = known.iter().filter(|(name, value)| {
        name.starts_with(INSTRUCTIONS) && !value.is_empty() && now.iter().all(|fact| fact.name != **name)
    });
    let fact = |name: &String| {
        let file = &name[INSTRUCTIONS.len()..];
        let text = format!("The instructions in {file} no longer apply: the file is gone.");
        Fact { name: name.clone(), value: String::new(), text: Text::Paragraph(text) }
    };
    lost.map(|(name, _)| fact(name)).collect()
}

/// Returns facts about skills that the model knows and that are not listed any more.
pub(crate) fn of_lost_skills(now: &[Fact], known: &Known) -> Vec<Fact> {
    let lost = known.iter().filter(|(name, value)| {
        name.starts_with(SKILL) && !value.is_empty() && now.iter().all(|fact| fact.name != **name)
    });
    let fact = |name: &String| Fact {
        name: name.clone(),
        value: String::new(),
        text: Text::SkillGone(name[SKILL.len()..].to_owned()),
    };
    lost.map(|(name, _)| fact(name)).collect()
}

/// Returns the instruction files that the model knows.
pub(crate) fn instruction_files(known: &Known) -> impl Iterator<Item = &str> {
    let present = known.iter().filter(|(_, value)| !value.is_empty());
    present.filter_map(|(name, _)| name.strip_prefix(INSTRUCTIONS))
}

/// Returns the numbers of the memories that the model was sent.
pub(crate) fn recalled_memories(known: &Known) -> Option<&str> {
    known.get(MEMORIES).map(String::as_str).filter(|ids| !ids.is_empty())
}

fn hash_of(spec: &ToolSpec) -> String {
    hash(format!("{}\n{}\n{}", spec.name, spec.description, spec.parameters).as_bytes())
}

/// Returns a short hash, stored in place of a long text.
pub(crate) fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex()[..16].to_owned()
}

/// Returns a briefing with the facts that the model does not know; `None` if it knows all.
pub(crate) fn briefing(facts: Vec<Fact>, known: &Known) -> Option<Briefing> {
    let is_tool = |fact: &Fact| matches!(fact.text, Text::Tool(..) | Text::ToolGone(_));
    // Facts about tools were already filtered against the listed tools.
    let unknown =
        |fact: &Fact| is_tool(fact) || known.get(&fact.name).map_or("", String::as_str) != fact.value;
    let facts: Vec<_> = facts.into_iter().filter(unknown).collect();
    let mut text = text(&facts, known.is_empty());
    let has_skills = known.iter().any(|(name, value)| name.starts_with(SKILL) && !value.is_empty());
    let skills = skills_text(&facts, !has_skills);
    if !skills.is_empty() {
        text = [text, skills].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n");
    }
    (!text.is_empty())
        .then(|| Briefing { text, facts: facts.into_iter().map(|fact| (fact.name, fact.value)).collect() })
}

fn text(facts: &[Fact], first: bool) -> String {
    let mut paragraphs = Vec::new();
    let mut lines = String::new();
    let (mut came, mut through, mut gone) = (String::new(), false, Vec::new());
    for fact in facts {
        match &fact.text {
            Text::Line(line) => {
                let _ = writeln!(lines, "{line}");
            }
            Text::Paragraph(text) => paragraphs.push(text.clone()),
            Text::Tool(form, listed) => {
                through = *listed;
                let _ = writeln!(came, "{form}");
            }
            Text::ToolGone(name) => gone.push(name.as_str()),
            Text::Skill(_) | Text::SkillGone(_) | Text::Nothing => {}
        }
    }
    if !lines.is_empty() {
        let tag = if first { "environment" } else { "environment_update" };
        paragraphs.insert(0, format!("<{tag}>\n{lines}</{tag}>"));
    }
    if !came.is_empty() {
        let how = if through { format!(" with {}", call_tool::NAME) } else { String::new() };
        paragraphs
            .push(format!("<new_tools>\nThese tools can be called from now on{how}:\n{came}</new_tools>"));
    }
    if !gone.is_empty() {
        paragraphs.push(format!("<removed_tools>\nNo longer there: {}\n</removed_tools>", gone.join(", ")));
    }
    paragraphs.join("\n\n")
}

/// Returns the section on skills; empty if there is nothing to say. `first` is the first list.
fn skills_text(facts: &[Fact], first: bool) -> String {
    let (mut lines, mut gone) = (String::new(), Vec::new());
    for fact in facts {
        match &fact.text {
            Text::Skill(line) => {
                let _ = writeln!(lines, "{line}");
            }
            Text::SkillGone(name) => gone.push(name.as_str()),
            _ => {}
        }
    }
    if !gone.is_empty() {
        let _ = writeln!(lines, "No longer there: {}", gone.join(", "));
    }
    match (lines.is_empty(), first) {
        (true, _) => lines,
        (false, true) => format!("<skills>\n{SKILLS_INTRO}\n{lines}</skills>"),
        (false, false) => format!("<skills_update>\n{lines}</skills_update>"),
    }
}

/// What a model must know of skills.
const SKILLS_INTRO: &str = "Skills are instructions for particular tasks. When one is for the task, call skill with its name \
                            before you begin, and follow what it returns.";

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(name: &str, description: &str) -> ToolSpec {
        let (name, description) = (name.to_owned(), description.to_owned());
        ToolSpec { name, description, parameters: json!({ "type": "object" }) }
    }

    fn brief(known: &mut Known, facts: Vec<Fact>) -> Option<String> {
        let briefing = briefing(facts, known)?;
        known.extend(briefing.facts);
        Some(briefing.text)
    }

    #[test]
    fn what_was_told_is_told_again_only_when_it_changes() {
        let facts = |mode: &str| {
            vec![
                Fact::line("date", "2026-11-23", "Date: 2026-11-23."),
                Fact::line("mode", mode, format!("Mode: {mode}.")),
            ]
        };
        let mut known = Known::new();
        let first = brief(&mut known, facts("edit")).unwrap();
        assert_eq!(first, "<environment>\nDate: 2026-11-23.\nMode: edit.\n</environment>");
        assert_eq!(brief(&mut known, facts("edit")), None);
        let update = brief(&mut known, facts("plan")).unwrap();
        assert_eq!(update, "<environment_update>\nMode: plan.\n</environment_update>");
    }

    #[test]
    fn tools_that_come_change_and_go_are_told_of_once_each() {
        let listed = [spec("a", "A"), spec("b", "B"), call_tool::spec()];
        let mut known = Known::new();
        let mut now = |specs: &[ToolSpec]| {
            let facts = of_tools(&listed, specs, &known);
            brief(&mut known, facts).unwrap_or_default()
        };
        let (a, b) = (spec("a", "A"), spec("b", "B"));
        assert_eq!(now(&[a.clone(), b.clone()]), "");
        let came = now(&[a.clone(), b.clone(), spec("c", "C")]);
        let described: Vec<serde_json::Value> =
            came.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let c = json!({ "name": "c", "description": "C", "parameters": { "type": "object" } });
        assert_eq!(described, [c], "{came}");
        assert!(came.contains("call_tool"), "{came}");
        assert_eq!(now(&[a.clone(), b.clone(), spec("c", "C")]), "");
        let gone = now(&[spec("a", "Another A"), spec("c", "C")]);
        assert!(gone.contains("Another A") && gone.contains("No longer there: b\n"), "{gone}");
        assert_eq!(now(&[spec("a", "Another A"), spec("c", "C")]), "");
        let back = now(&[a, b]);
        assert!(back.contains(r#""name":"b""#) && back.contains("No longer there: c\n"), "{back}");
    }

    #[test]
    fn a_file_of_instructions_that_went_is_told_of_once() {
        let file = |text: &str| Fact::instructions("AGENTS.md", hash(text.as_bytes()), text.to_owned());
        let mut known = Known::new();
        assert_eq!(brief(&mut known, vec![file("Use tabs.")]).as_deref(), Some("Use tabs."));
        assert_eq!(brief(&mut known, vec![file("Use tabs.")]), None);
        assert_eq!(instruction_files(&known).collect::<Vec<_>>(), ["AGENTS.md"]);
        assert_eq!(brief(&mut known, vec![file("Use spaces.")]).as_deref(), Some("Use spaces."));
        let lost = of_lost_instructions(&[], &known);
        assert!(brief(&mut known, lost).unwrap().contains("AGENTS.md no longer apply"));
        assert_eq!(of_lost_instructions(&[], &known), []);
        assert_eq!(instruction_files(&known).count(), 0);
    }
}
