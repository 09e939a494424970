//! `get_goal`, `create_goal`, `update_goal`: the goal that the session works on by itself.

use super::args;
use crate::{
    Access, Description, Effect, Goal, GoalStatus, SessionEvent, Tool, ToolContext, ToolError, ToolKind,
    ToolOutput, goal, limits::TASK_TITLE_CHARS, text::cut,
};
use async_trait::async_trait;
use serde_json::{Value, json};
use system::AbsPath;

/// Shows the goal.
#[derive(Debug, serde::Deserialize)]
pub(super) struct GetGoal {}

/// Sets a goal.
#[derive(Debug, serde::Deserialize)]
pub(super) struct CreateGoal {
    objective: String,
    #[serde(default, deserialize_with = "args::count")]
    token_budget: Option<u64>,
}

/// Ends the work on the goal.
#[derive(Debug, serde::Deserialize)]
pub(super) struct UpdateGoal {
    status: End,
    #[serde(default, deserialize_with = "args::optional")]
    reason: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
enum End {
    #[serde(alias = "completed", alias = "done")]
    Complete,
    Blocked,
}

#[async_trait]
impl Tool for GetGoal {
    const NAME: &'static str = "get_goal";
    const DESCRIPTION: &'static str =
        "Shows the session's goal: objective, status, token budget, tokens and time used.";
    const EFFECT: Effect = Effect::Reads;
    const LISTED: bool = false;

    fn parameters() -> Value {
        json!({"type": "object", "properties": {}})
    }

    fn describe(&self, _cwd: &AbsPath) -> Description {
        description("Show the goal")
    }

    fn accesses(&self, _cwd: &AbsPath) -> Vec<Access> {
        args::touches_nothing(Self::NAME)
    }

    async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(as_json(cx.session.goal.as_ref()).to_string()))
    }
}

#[async_trait]
impl Tool for CreateGoal {
    const NAME: &'static str = "create_goal";
    const DESCRIPTION: &'static str = "Sets a goal that you then work on without further prompts until it is reached. Only when the user asks for a goal.";
    const EFFECT: Effect = Effect::Session;
    const LISTED: bool = false;

    fn parameters() -> Value {
        json!({
            "type": "object",
            "properties": {
                "objective": {"type": "string", "description": "What is to be reached, and how to tell that it is"},
                "token_budget": {"type": "integer", "description": "Tokens that it may use; only if the user named a number"}
            },
            "required": ["objective"]
        })
    }

    fn describe(&self, _cwd: &AbsPath) -> Description {
        description(&format!("Set a goal: {}", self.objective))
    }

    fn accesses(&self, _cwd: &AbsPath) -> Vec<Access> {
        args::touches_nothing(Self::NAME)
    }

    async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        if cx.session.subagents.0.as_ref().is_some_and(|subagents| subagents.is_of_subagent()) {
            return Err(ToolError::message("A subagent has no goal of its own: its task is its goal."));
        }
        if let Some(goal) = cx.session.goal.as_ref().filter(|goal| goal.status != GoalStatus::Complete) {
            return Err(ToolError::message(format!(
                "There is a goal already, with the status {}. Only the user can replace it, with /goal.",
                goal.status.id()
            )));
        }
        let goal = goal::new(&self.objective, self.token_budget, cx.session.usage)
            .map_err(|error| ToolError::message(format!("Not set: {error}.")))?;
        let mut output = ToolOutput::text(format!(
            "The goal is set. Work on it until it is reached, then call {}.",
            UpdateGoal::NAME
        ));
        output.events.push(SessionEvent::Goal(Some(goal)));
        Ok(output)
    }
}

#[async_trait]
impl Tool for UpdateGoal {
    const NAME: &'static str = "update_goal";
    const DESCRIPTION: &'static str = "Ends the work on the goal: complete when it is reached and checked, blocked when only the user can help.";
    const EFFECT: Effect = Effect::Session;

    fn parameters() -> Value {
        json!({
            "type": "object",
            "properties": {
                "status": {"type": "string", "enum": ["complete", "blocked"]},
                "reason": {"type": "string", "description": "For blocked: what the user must do"}
            },
            "required": ["status"]
        })
    }

    fn describe(&self, _cwd: &AbsPath) -> Description {
        description(match self.status {
            End::Complete => "Complete the goal",
            End::Blocked => "Stop work on the goal",
        })
    }

    fn accesses(&self, _cwd: &AbsPath) -> Vec<Access> {
        args::touches_nothing(Self::NAME)
    }

    async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let Some(goal) = cx.session.goal.clone() else {
            return Err(ToolError::message("There is no goal. Answer the user instead."));
        };
        if goal.status == GoalStatus::Complete {
            return Err(ToolError::message("The goal is complete already. Answer the user instead."));
        }
        if self.status == End::Blocked && self.reason.is_none() {
            return Err(ToolError::message("reason is missing: say what the user must do."));
        }
        let (status, said) = match self.status {
            End::Complete => (GoalStatus::Complete, "The goal is complete. Tell the user the result."),
            End::Blocked => (GoalStatus::Blocked, "The goal is blocked. Tell the user what you need."),
        };
        let text = format!("{said}\nTokens: {}.", goal::tokens(&goal));
        let mut output = ToolOutput::text(text);
        output.events.push(SessionEvent::Goal(Some(goal::with(goal, status, self.reason.as_deref()))));
        Ok(output)
    }
}

fn description(title: &str) -> Description {
    let title = cut::cut(crate::one_line(title).as_str(), TASK_TITLE_CHARS).into_owned();
    Description { title, kind: ToolKind::Think, locations: Vec::new() }
}

fn as_json(goal: Option<&Goal>) -> Value {
    let Some(goal) = goal else { return json!({ "goal": null }) };
    json!({
        "goal": {
            "id": goal.id,
            "objective": goal.objective,
            "status": goal.status.id(),
            "reason": goal.reason,
            "token_budget": goal.token_budget,
            "tokens_used": goal.tokens_used,
            "time_used_seconds": goal.seconds_used,
        },
        "remaining_tokens": goal.tokens_left(),
    })
}
