//! `tiller skills`: lists, shows and checks skills and commands from files.

mod rows;

pub(crate) use rows::{CheckedSkills, SkillAnswer, SkillList};

use crate::{
    answer::{Answer, Console, Failure, Kind},
    args::SkillsCommand,
    environment,
    exit::Exit,
    options::Directories,
    trust,
};
use agent::{Found, FoundState, SkillFinder, check_skill, find_skills};
use anyhow::{Context as _, Result};
use rows::{CheckedSkill, CommandRow, ShownSkill, SkillRow};
use system::AbsPath;

/// Runs the command.
///
/// # Errors
/// If there is no skill of a name, or stdout fails.
pub(crate) async fn run(
    console: &Console,
    directories: &Directories,
    cwd: &AbsPath,
    command: SkillsCommand,
) -> Result<Exit> {
    let finder = trust::skill_finder(directories, cwd);
    let answer = match command {
        SkillsCommand::List => list(&finder).await,
        SkillsCommand::Show { name } => show(&finder, &name).await?,
        SkillsCommand::Validate { directories } if directories.is_empty() => {
            let skills = find_skills(&finder).await.skills;
            validate(&finder, skills.into_iter().map(|found| found.path).collect()).await
        }
        SkillsCommand::Validate { directories } => {
            let base = environment::current_dir()?;
            let paths = directories.iter().map(|path| environment::absolute(&base, path));
            validate(&finder, paths.collect::<Result<_>>()?).await
        }
    };
    console.print(answer)
}

async fn list(finder: &SkillFinder) -> Answer {
    let set = find_skills(finder).await;
    let mut text = String::new();
    let mut section = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            text.push_str(&format!("{title}:\n{}", lines.concat()));
        }
    };
    section(
        "Skills",
        set.skills.iter().map(|found| line(found, |skill| &skill.manifest.description)).collect(),
    );
    section(
        "Commands",
        set.commands.iter().map(|found| line(found, |command| &command.description)).collect(),
    );
    section("Problems", set.problems.iter().map(|why| format!("  {}\n", agent::one_line(why))).collect());
    if text.is_empty() {
        text = "There are no skills and no commands from files; see docs/skills.md.\n".to_owned();
    }
    let skills = set.skills.iter().map(SkillRow::of).collect();
    let commands = set.commands.iter().map(CommandRow::of).collect();
    Answer::new(SkillList { skills, commands, problems: set.problems }, text)
}

fn line<T>(found: &Found<T>, about: impl Fn(&T) -> &String) -> String {
    let about = found.content.as_deref().map(|content| format!(": {}", about(content))).unwrap_or_default();
    let problem = found.state.problem().map(|why| format!("\n            {}", agent::one_line(&why)));
    let (name, path) = (agent::one_line(&found.name), agent::one_line(found.path.as_str()));
    let (state, origin) = (found.state.word(), found.origin.word());
    format!("  {state:<9} {name}{about}\n            {origin}: {path}{}\n", problem.unwrap_or_default())
}

async fn show(finder: &SkillFinder, name: &str) -> Result<Answer> {
    let skills = find_skills(finder).await.skills;
    let mut named: Vec<_> = skills.iter().filter(|found| found.name == name).collect();
    named.sort_by_key(|found| found.state != FoundState::Used);
    let Some(found) = named.first() else {
        let what = format!("there is no skill {:?}", agent::one_line(name));
        return Err(Failure::new(Kind::NotFound, what)
            .meant(agent::closest(name, &skills, |found| &found.name).map(|found| &found.name))
            .next("tiller skills list")
            .into());
    };
    let path = agent::one_line(found.path.as_str());
    let skill = found.content.as_deref().with_context(|| {
        format!("the skill {path} cannot be shown: {}", found.state.problem().unwrap_or_default())
    })?;
    let (files, is_cut) = skill.files(finder.system.as_ref()).await;
    let mut text = line(found, |skill| &skill.manifest.description);
    let manifest = &skill.manifest;
    let facts = [
        ("license", manifest.license.clone().unwrap_or_default()),
        ("compatibility", manifest.compatibility.clone().unwrap_or_default()),
        ("allowed-tools (loosen no permission)", manifest.allowed_tools.join(" ")),
        ("warnings", skill.warnings.join("; ")),
    ];
    for (name, value) in facts.iter().filter(|(_, value)| !value.is_empty()) {
        text.push_str(&format!("  {name}: {value}\n"));
    }
    for file in &files {
        text.push_str(&format!("  file: {}\n", agent::one_line(file.as_str())));
    }
    text.push_str(&format!(
        "{}\n{}\n",
        if is_cut { "  more files are not listed\n" } else { "" },
        skill.body
    ));
    let files = files.iter().map(ToString::to_string).collect();
    let skill = ShownSkill { row: SkillRow::of(found), files, body: skill.body.clone() };
    Ok(Answer::new(SkillAnswer { skill }, text))
}

/// Checks the skills in directories, trusted or not: nothing of them reaches a model.
async fn validate(finder: &SkillFinder, directories: Vec<AbsPath>) -> Answer {
    let (mut text, mut rows, mut wrong) = (String::new(), Vec::new(), 0);
    for directory in &directories {
        let (problems, usable) = match check_skill(finder.system.as_ref(), directory).await {
            Ok(skill) => (skill.warnings, true),
            Err(why) => (vec![why], false),
        };
        let path = agent::one_line(directory.as_str());
        let state = match (problems.is_empty(), usable) {
            (true, _) => "valid",
            (false, true) => "usable",
            (false, false) => "invalid",
        };
        text.push_str(&format!("{state:<8} {path}\n"));
        for problem in &problems {
            text.push_str(&format!("         {}\n", agent::one_line(problem)));
        }
        wrong += usize::from(!problems.is_empty());
        rows.push(CheckedSkill { path: directory.to_string(), state, problems });
    }
    if directories.is_empty() {
        text.push_str("There are no skills to check.\n");
    }
    Answer::new(CheckedSkills { skills: rows }, text).failed_if(wrong > 0, "a skill has problems")
}
