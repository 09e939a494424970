//! The rows about the session's work: the running turn, the plan, the subagents and the messages
//! that wait.

use super::{
    session::{RunningTurn, SessionView},
    waiting::WaitingMessages,
};
use crate::{
    driver::request::When,
    look::Look,
    text::{cut::cut, row::Row},
    theme::Role,
};
use agent::{Phase, PlanEntry, PlanStatus, SubagentState, SubagentStatus};
use ratatui_core::text::{Line, Span};
use std::time::Duration;

/// What the rows are drawn for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Drawing<'a> {
    /// Theme, width and measure.
    pub(super) look: &'a Look,
    /// The time since the interface started.
    pub(super) now: Duration,
    /// The time of day, in milliseconds since the epoch.
    pub(super) today: i64,
    /// Whether signs of progress move.
    pub(super) animation: bool,
}

impl Drawing<'_> {
    /// Returns a row of these texts, cut to the width.
    pub(super) fn row(&self, texts: &[(Role, &str)]) -> Row {
        self.cut(texts.iter().map(|(role, text)| self.look.span(*role, text)).collect())
    }

    /// Returns a row of these spans, cut to the width.
    pub(super) fn cut(&self, spans: Vec<Span<'static>>) -> Row {
        Row::new(Line::from(cut(spans, self.look.width, self.look.measure)))
    }

    /// Returns a rule over the whole width.
    pub(super) fn rule(&self) -> Row {
        Row::new(Line::from(Span::styled("─".repeat(self.look.width), self.look.style(Role::Rule))))
    }

    /// Returns the sign of something that runs.
    fn running(&self) -> &'static str {
        const SIGNS: [&str; 4] = ["◐", "◓", "◑", "◒"];
        let quarter = self.now.as_millis() / 250;
        if self.animation { SIGNS[usize::try_from(quarter % 4).unwrap_or_default()] } else { SIGNS[0] }
    }
}

/// Returns the row about the running turn.
pub(super) fn turn(turn: RunningTurn, drawing: Drawing<'_>) -> Row {
    let does = match turn.phase {
        Phase::Thinking => "the model answers",
        Phase::Tools => "runs tools",
        Phase::Idle => "ends",
    };
    let time = seconds(drawing.now.saturating_sub(turn.since));
    drawing.row(&[(Role::Running, drawing.running()), (Role::Dim, &format!(" {does} · {time} · esc: stop"))])
}

/// Returns the closed panel of plan and subagents: one row, or none if there is nothing to show.
pub(super) fn summary(view: &SessionView, drawing: Drawing<'_>) -> Option<Row> {
    let mut texts: Vec<(Role, String)> = Vec::new();
    if let Some(goal) = &view.work.goal {
        let status = goal.status.id().replace('_', " ");
        texts.push((Role::Strong, "goal ".to_owned()));
        texts.push((Role::Dim, format!("{status}: {}   ", goal.objective)));
    }
    let done = view.work.plan.iter().filter(|entry| entry.status == PlanStatus::Completed).count();
    if done < view.work.plan.len() {
        texts.push((Role::Strong, format!("plan {done}/{}", view.work.plan.len())));
        if let Some(entry) = view.work.plan.iter().find(|entry| entry.status == PlanStatus::InProgress) {
            texts.push((Role::Text, format!(" ◎ {}", entry.content)));
        }
        texts.push((Role::Text, "   ".to_owned()));
    }
    let active: Vec<&SubagentState> =
        view.work.agents.iter().filter(|agent| !agent.progress.status.is_final()).collect();
    if !active.is_empty() {
        texts.push((Role::Strong, format!("agents {}", active.len())));
        for agent in active.iter().take(SUMMARISED) {
            texts.push((Role::Running, format!(" {}", sign(agent.progress.status, drawing))));
            texts.push((Role::Text, format!(" {}", agent.id)));
            texts.push((Role::Dim, format!(" {}", elapsed(agent, drawing.today))));
        }
        if active.len() > SUMMARISED {
            texts.push((Role::Dim, format!(" +{}", active.len() - SUMMARISED)));
        }
    }
    if texts.is_empty() {
        return None;
    }
    let texts: Vec<(Role, &str)> = texts.iter().map(|(role, text)| (*role, text.as_str())).collect();
    Some(drawing.row(&texts))
}

/// The subagents that the closed panel names.
const SUMMARISED: usize = 3;

/// Returns the opened panel: the plan, and a row for each subagent. `selected` is the subagent with
/// the cursor.
pub(super) fn opened(view: &SessionView, selected: usize, height: usize, drawing: Drawing<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    if view.work.plan.is_empty() && view.work.agents.is_empty() {
        rows.push(drawing.row(&[(Role::Dim, "no plan and no agents yet · esc: close")]));
        return rows;
    }
    rows.extend(view.work.plan.iter().map(|entry| plan_row(entry, drawing)));
    let left = height.saturating_sub(rows.len() + 1).max(1);
    let first = (selected + 1).saturating_sub(left);
    let columns = AgentColumns::of(&view.work.agents, drawing);
    for (index, agent) in view.work.agents.iter().enumerate().skip(first).take(left) {
        rows.push(agent_row(agent, index == selected, columns, drawing));
    }
    rows.truncate(height.saturating_sub(1).max(1));
    let keys = match view.work.agents.is_empty() {
        true => "esc: close",
        false => "↑ ↓: select · enter: its transcript · x: cancel · esc: close",
    };
    rows.push(drawing.row(&[(Role::Dim, keys)]));
    rows
}

fn plan_row(entry: &PlanEntry, drawing: Drawing<'_>) -> Row {
    let (role, sign) = match entry.status {
        PlanStatus::Completed => (Role::Ok, "✓"),
        PlanStatus::InProgress => (Role::Running, "◎"),
        PlanStatus::Pending => (Role::Dim, "○"),
    };
    drawing.row(&[(role, sign), (Role::Text, " "), (Role::Text, &entry.content)])
}

/// The widths of the columns that have one for all subagents, in characters.
#[derive(Clone, Copy)]
struct AgentColumns {
    name: usize,
    status: usize,
    kind: usize,
    elapsed: usize,
    calls: usize,
}

impl AgentColumns {
    /// The widest column of names; a longer name moves the rest of its row.
    const MOST_NAME: usize = 28;

    fn of(agents: &[SubagentState], drawing: Drawing<'_>) -> Self {
        let widest = |text: &dyn Fn(&SubagentState) -> String| {
            agents.iter().map(|agent| text(agent).chars().count()).max().unwrap_or(0)
        };
        Self {
            name: widest(&|agent| indent(agent) + &agent.id).min(Self::MOST_NAME),
            status: widest(&|agent| status_text(agent.progress.status)),
            kind: widest(&|agent| agent.request.kind.to_string()),
            elapsed: widest(&|agent| elapsed(agent, drawing.today)),
            calls: widest(&|agent| calls(agent.activity.tool_calls)),
        }
    }
}

fn indent(agent: &SubagentState) -> String {
    "  ".repeat(usize::try_from(agent.place.depth).unwrap_or(1).saturating_sub(1))
}

fn status_text(status: SubagentStatus) -> String {
    status.id().replace('_', " ")
}

fn agent_row(agent: &SubagentState, selected: bool, columns: AgentColumns, drawing: Drawing<'_>) -> Row {
    let status = agent.progress.status;
    let role = match status {
        SubagentStatus::Done => Role::Ok,
        SubagentStatus::Failed | SubagentStatus::Cancelled | SubagentStatus::Interrupted => Role::Error,
        SubagentStatus::Retrying => Role::Warning,
        _ => Role::Running,
    };
    let indent = indent(agent);
    let marker = if selected { "▸ " } else { "  " };
    let about = match (&agent.progress.error, &agent.progress.queue_reason, &agent.activity.last_tool) {
        (Some(error), _, _) => error.clone(),
        (None, Some(reason), _) if !status.is_final() => reason.clone(),
        (None, _, Some(tool)) if status == SubagentStatus::Running => tool.clone(),
        _ => agent.request.task.clone(),
    };
    let name = format!(" {:1$}", agent.id, columns.name.saturating_sub(indent.len()));
    let details = format!(
        "  {:status$}  {:kind$}  {:>elapsed$}  {:calls$}  {about}",
        status_text(status),
        agent.request.kind.to_string(),
        elapsed(agent, drawing.today),
        calls(agent.activity.tool_calls),
        status = columns.status,
        kind = columns.kind,
        elapsed = columns.elapsed,
        calls = columns.calls,
    );
    drawing.row(&[
        (Role::Text, marker),
        (Role::Text, &indent),
        (role, sign(status, drawing)),
        (Role::Text, &name),
        (Role::Dim, &details),
    ])
}

/// Returns the row of the messages that wait; `None` if there are none.
pub(super) fn waiting(messages: &WaitingMessages, drawing: Drawing<'_>) -> Option<Row> {
    if messages.all().is_empty() {
        return None;
    }
    let mut texts: Vec<(Role, String)> = Vec::new();
    for message in messages.all() {
        let label = match message.when {
            When::Next => "next",
            When::After => "after",
        };
        let gap = if texts.is_empty() { "" } else { "   " };
        texts.push((Role::Strong, format!("{gap}{label} ▸ ")));
        texts.push((Role::Dim, format!("\"{}\"", message.shown)));
    }
    let texts: Vec<(Role, &str)> = texts.iter().map(|(role, text)| (*role, text.as_str())).collect();
    Some(drawing.row(&texts))
}

fn sign(status: SubagentStatus, drawing: Drawing<'_>) -> &'static str {
    match status {
        SubagentStatus::Running => drawing.running(),
        SubagentStatus::Done => "✓",
        SubagentStatus::Failed => "✗",
        SubagentStatus::Cancelled | SubagentStatus::Interrupted => "⊘",
        SubagentStatus::Retrying => "↻",
        SubagentStatus::Waiting | SubagentStatus::Queued | SubagentStatus::QueuedGlobal => "·",
    }
}

/// Returns how long a subagent has run, or ran.
fn elapsed(agent: &SubagentState, today: i64) -> String {
    let Some(started) = agent.times.started_at else { return "queued".to_owned() };
    let ended = agent.times.ended_at.unwrap_or(today);
    seconds(Duration::from_millis(u64::try_from(ended.saturating_sub(started)).unwrap_or_default()))
}

fn calls(count: u64) -> String {
    if count == 1 { "1 call".to_owned() } else { format!("{count} calls") }
}

/// Returns a time as a person says it: `4 s`, `2 min 5 s`, `1 h 3 min`.
pub(super) fn seconds(time: Duration) -> String {
    let seconds = time.as_secs();
    match (seconds / 3_600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theme::Theme;

    #[test]
    fn the_columns_of_agents_begin_in_the_same_cells() {
        let look = Look::new(Theme::terminal(), 80);
        let drawing = Drawing { look: &look, now: Duration::ZERO, today: 0, animation: false };
        let mut agents =
            ["log", "docs-audit"].map(|id| SubagentState { id: id.into(), ..Default::default() });
        agents[1].progress.status = SubagentStatus::QueuedGlobal;
        agents[1].activity.tool_calls = 1;
        let columns = AgentColumns::of(&agents, drawing);
        let rows = agents.each_ref().map(|agent| agent_row(agent, false, columns, drawing).plain());
        let column = |row: &str| row.find("call").map(|at| row[..at].chars().count());
        assert!(column(&rows[0]).is_some() && column(&rows[0]) == column(&rows[1]), "{rows:#?}");
    }
}
