//! The source of a session's skills and commands.

use super::{
    command_file::CommandFile,
    find::{Found, FoundState, SkillSet},
    finder::SkillFinder,
    loaded::{self, FILE, Skill},
    overview,
    places::UserPlaces,
    session::{SessionSkills, skill_of},
    tool::{self, SkillTool},
};
use crate::{
    AnyTool, CommandGroup, Content, FolderTrust, Offer, Refused, SessionScope, SkillSummary, SlashCommand,
    ToolProvider, ToolSource, limits::SKILLS_HEAD_START, text::file_uri::file_uri,
};
use async_trait::async_trait;
use std::sync::Arc;
use system::System;

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

fn command_of<'a>(set: &'a SkillSet, name: &str) -> Option<(&'a Found<CommandFile>, &'a CommandFile)> {
    let found = set.commands.iter().find(|found| found.state == FoundState::Used && found.name == name)?;
    Some((found, found.content.as_deref()?))
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
        self.skills.commands()
    }

    async fn commands_changed(&self) {
        self.skills.commands_changed().await;
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
    /// Notes the skill that a text of the session contains, if any.
    fn recall_loaded(&self, text: &str) {
        if let Some(name) = loaded::named(text) {
            self.skills.recall(name);
        }
    }
}

fn summary((found, skill): (&Found<Skill>, &Skill)) -> SkillSummary {
    SkillSummary { name: found.name.clone(), description: skill.manifest.description.clone() }
}
