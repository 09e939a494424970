//! The stored form of a subagent's state, since format 8.

use super::tokens::Tokens;
use agent::{
    KeptOutput, SessionId, SubagentActivity, SubagentPlace, SubagentProgress, SubagentRequest, SubagentState,
    SubagentStatus, SubagentTimes, SubagentWorktree,
};
use serde::{Deserialize, Serialize};
use system::AbsPath;

/// Format 8: a subagent's state. Times are in milliseconds since the epoch.
#[derive(Serialize, Deserialize)]
pub(super) struct Subagent {
    id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    depth: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    worktree: Option<Worktree>,
    request: Request,
    status: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    queue_reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(default, skip_serializing_if = "is_zero")]
    retries: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next_retry_at: Option<i64>,
    #[serde(default, skip_serializing_if = "is_false")]
    delivered: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    activity: Option<Activity>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    started_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ended_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    active_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    result: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output: Option<Output>,
}

#[derive(Serialize, Deserialize)]
struct Worktree {
    folder: String,
    branch: String,
    base: String,
}

#[derive(Serialize, Deserialize)]
struct Request {
    #[serde(rename = "type")]
    kind: String,
    task: String,
    mode: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    group: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    depends_on: Vec<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    isolated: bool,
}

#[derive(Serialize, Deserialize)]
struct Activity {
    tool_calls: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_tool: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_message: Option<String>,
    usage: Tokens,
}

#[derive(Serialize, Deserialize)]
struct Output {
    reference: String,
    bytes: u64,
    preview: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

impl From<SubagentState> for Subagent {
    fn from(state: SubagentState) -> Self {
        let SubagentState { id, place, request, progress, activity, times, result, output } = state;
        let has_activity = activity != SubagentActivity::default();
        Self {
            id,
            parent: place.parent,
            depth: place.depth,
            session: place.session.map(|session| session.0),
            worktree: place.worktree.map(|worktree| Worktree {
                folder: worktree.folder.as_str().to_owned(),
                branch: worktree.branch,
                base: worktree.base,
            }),
            request: Request {
                kind: request.kind,
                task: request.task,
                mode: request.mode,
                group: request.group,
                depends_on: request.depends_on,
                isolated: request.isolated,
            },
            status: progress.status.id().to_owned(),
            queue_reason: progress.queue_reason,
            error: progress.error,
            retries: progress.retries,
            next_retry_at: progress.next_retry_at,
            delivered: progress.delivered,
            activity: has_activity.then(|| Activity {
                tool_calls: activity.tool_calls,
                last_tool: activity.last_tool,
                last_message: activity.last_message,
                usage: Tokens::from(activity.usage),
            }),
            started_at: times.started_at,
            ended_at: times.ended_at,
            active_at: times.active_at,
            result,
            output: output.map(|output| Output {
                reference: output.reference,
                bytes: output.bytes,
                preview: output.preview,
            }),
        }
    }
}

impl TryFrom<Subagent> for SubagentState {
    type Error = String;

    fn try_from(stored: Subagent) -> Result<Self, String> {
        let Request { kind, task, mode, group, depends_on, isolated } = stored.request;
        let worktree = match stored.worktree {
            None => None,
            Some(Worktree { folder, branch, base }) => {
                let folder = AbsPath::new(&folder).map_err(|error| error.to_string())?;
                Some(SubagentWorktree { folder, branch, base })
            }
        };
        let status = SubagentStatus::ALL.into_iter().find(|status| status.id() == stored.status);
        let activity = stored.activity.map(|activity| SubagentActivity {
            tool_calls: activity.tool_calls,
            last_tool: activity.last_tool,
            last_message: activity.last_message,
            usage: activity.usage.into(),
        });
        Ok(Self {
            id: stored.id,
            place: SubagentPlace {
                parent: stored.parent,
                depth: stored.depth,
                session: stored.session.map(SessionId),
                worktree,
            },
            request: SubagentRequest { kind, task, mode, group, depends_on, isolated },
            progress: SubagentProgress {
                status: status.ok_or_else(|| format!("unknown status {:?}", stored.status))?,
                queue_reason: stored.queue_reason,
                error: stored.error,
                retries: stored.retries,
                next_retry_at: stored.next_retry_at,
                delivered: stored.delivered,
            },
            activity: activity.unwrap_or_default(),
            times: SubagentTimes {
                started_at: stored.started_at,
                ended_at: stored.ended_at,
                active_at: stored.active_at,
            },
            result: stored.result,
            output: stored.output.map(|output| KeptOutput {
                reference: output.reference,
                bytes: output.bytes,
                preview: output.preview,
            }),
        })
    }
}
