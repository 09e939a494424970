//! `skill`: returns the instructions of a skill and the list of its files.

use super::{
    overview,
    session::{SessionSkills, skill_of},
};
use crate::{
    Access, AnyCall, AnyTool, Description, Effect, ToolContent, ToolContext, ToolError, ToolKind, ToolOutput,
    ToolSpec, limits::SKILL_NAMES_SHOWN,
};
use async_trait::async_trait;
use serde_json::{Value, json};
use std::{borrow::Cow, sync::Arc};
use system::AbsPath;

/// The tool's name.
pub(super) const NAME: &str = "skill";

/// The tool of a session.
pub(super) struct SkillTool(pub(super) Arc<SessionSkills>);

/// The arguments of a call.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    name: String,
}

struct SkillCall {
    name: String,
    skills: Arc<SessionSkills>,
}

impl AnyTool for SkillTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: NAME.to_owned(),
            description:
                "Returns the instructions of a skill of <skills> and the paths of its files. Call it before \
                          you begin a task that the skill is for."
                    .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": { "name": { "type": "string", "description": "Name of the skill" } },
                "required": ["name"],
                "additionalProperties": false
            }),
        }
    }

    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed(NAME)
    }

    fn effect(&self) -> Effect {
        Effect::Reads
    }

    fn parse(&self, arguments: Value) -> Result<Box<dyn AnyCall>, ToolError> {
        match serde_json::from_value::<Arguments>(arguments) {
            Ok(Arguments { name }) => {
                let name = name.trim().trim_start_matches('/').to_owned();
                Ok(Box::new(SkillCall { name, skills: self.0.clone() }))
            }
            Err(error) => Err(ToolError::message(format!("Invalid arguments for '{NAME}': {error}"))),
        }
    }
}

#[async_trait]
impl AnyCall for SkillCall {
    fn describe(&self, _cwd: &AbsPath) -> Description {
        let title = format!("Load the skill {}", crate::one_line(&self.name));
        Description { title, kind: ToolKind::Read, locations: Vec::new() }
    }

    fn accesses(&self, _cwd: &AbsPath) -> Vec<Access> {
        vec![Access::Call { function: NAME.to_owned(), read_only: true }]
    }

    async fn prepare(&mut self, _cx: &ToolContext) -> Result<Vec<ToolContent>, ToolError> {
        Ok(Vec::new())
    }

    async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        // The files, or the trust in them, may have changed since the turn began.
        tokio::select! {
            biased;
            () = cx.cancel.cancelled() => return Err(ToolError::Cancelled(None)),
            () = self.skills.refresh() => {}
        }
        let set = self.skills.set();
        let found = skill_of(&set, &self.name).filter(|(_, skill)| skill.manifest.started_by.model);
        let Some((found, skill)) = found else {
            let names: Vec<_> = overview::for_models(&set).map(|(found, _)| found.name.as_str()).collect();
            let shown = names.iter().take(SKILL_NAMES_SHOWN).copied().collect::<Vec<_>>().join(", ");
            let all = match names.len() {
                0 => "there are none".to_owned(),
                many if many > SKILL_NAMES_SHOWN => format!("some are: {shown}"),
                _ => format!("available: {shown}"),
            };
            let name = crate::one_line(&self.name);
            return Err(ToolError::message(format!("No skill '{name}' can be loaded; {all}.")));
        };
        let text = self.skills.load(found, skill, None).await;
        let (name, path) = (&found.name, crate::one_line(found.path.as_str()));
        let shown = ToolContent::Content(crate::Content::text(format!("Loaded {name} from `{path}`")));
        Ok(ToolOutput::shown(text, vec![shown]))
    }
}
