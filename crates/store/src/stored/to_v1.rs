//! Converts the domain to formats 1 to 11.

use super::{colours, v1};
use agent::{
    AnswerPart, Briefing, Compaction, CompactionStep, Content, FileChange, Goal, HostUse, Item,
    ModelResponse, NetworkUse, Prefix, Reasoning, Rewound, SessionEvent, Snapshot, Task, Text,
    ToolCallRequest, ToolCallUpdate, ToolContent, ToolResult, ToolSpec, TurnEnd, Usage, Written,
    read_arguments,
};

/// Converts an event to its stored form; `None` for one that is never stored.
pub(super) fn event(event: SessionEvent) -> Option<v1::Event> {
    Some(match event {
        SessionEvent::TurnStarted { turn, prompt } => {
            v1::Event::TurnStarted { turn: turn.0, prompt: prompt.map(|prompt| prompt.as_str().to_owned()) }
        }
        SessionEvent::UserMessage { id, content } => {
            v1::Event::UserMessage { id: id.0, content: contents(content) }
        }
        SessionEvent::ModelResponse(response) => answer(response),
        SessionEvent::ToolCall(update) => v1::Event::ToolCall(Box::new(tool_call(update))),
        SessionEvent::PermissionRequested { id, question } => {
            v1::Event::PermissionRequested { id: id.0, question }
        }
        SessionEvent::PermissionResolved { id, outcome, rule } => {
            v1::Event::PermissionResolved { id: id.0, outcome: outcome.into(), rule }
        }
        SessionEvent::Plan(entries) => v1::Event::Plan {
            entries: entries
                .into_iter()
                .map(|entry| v1::PlanEntry {
                    content: entry.content,
                    priority: entry.priority.into(),
                    status: entry.status.into(),
                })
                .collect(),
        },
        SessionEvent::Tasks(tasks) => v1::Event::Tasks { tasks: tasks.into_iter().map(task).collect() },
        SessionEvent::Goal(goal) => v1::Event::Goal { goal: goal.map(self::goal) },
        SessionEvent::Usage(usage) => v1::Event::Usage {
            model: usage.model,
            context_used: usage.context_used,
            context_size: usage.context_size,
            total: usage.total.into(),
            subagents: (usage.subagents != Usage::default()).then(|| usage.subagents.into()),
            counted: usage.counted,
        },
        SessionEvent::Subagent(state) => v1::Event::Subagent(Box::new((*state).into())),
        SessionEvent::NetworkUsed(NetworkUse { call, hosts }) => {
            v1::Event::NetworkUsed { call: call.0, hosts: hosts.into_iter().map(host_use).collect() }
        }
        SessionEvent::ModeChanged(mode) => v1::Event::ModeChanged { mode: mode.into() },
        SessionEvent::PermissionModeChanged(mode) => {
            v1::Event::PermissionModeChanged { permission_mode: mode.into() }
        }
        SessionEvent::ModelChanged(model) => v1::Event::ModelChanged { model },
        SessionEvent::EffortChanged(effort) => v1::Event::EffortChanged { effort: effort.map(Into::into) },
        SessionEvent::TitleChanged(title) => v1::Event::TitleChanged { title },
        SessionEvent::TurnEnded { turn, end } => v1::Event::TurnEnded {
            turn: turn.0,
            end: match end {
                TurnEnd::Stopped(reason) => v1::TurnEnd::Stopped(reason.into()),
                TurnEnd::Failed(message) => v1::TurnEnd::Failed(message),
            },
        },
        SessionEvent::FileChanged(change) => v1::Event::FileChanged(file_change(change)),
        SessionEvent::Rewound(Rewound { to, files }) => {
            v1::Event::Rewound { to, files: files.into_iter().map(file_change).collect() }
        }
        SessionEvent::AnswerPart(AnswerPart { id, thought_id, model, text, thoughts }) => {
            v1::Event::AnswerPart { id: id.0, thought_id: thought_id.0, model, text, thoughts }
        }
        SessionEvent::ResultsLeftOut(left) => v1::Event::ResultsLeftOut {
            calls: left.calls.into_iter().map(|call| call.0).collect(),
            instead: left.instead,
        },
        SessionEvent::Prefix(Prefix { model, system, tools }) => {
            v1::Event::Prefix { model, system: system.to_string(), tools: tools.iter().map(tool).collect() }
        }
        SessionEvent::Briefing(Briefing { text, facts }) => v1::Event::Briefing { text, facts },
        SessionEvent::Compaction(Compaction { id, step }) => v1::Event::Compaction {
            id: id.0,
            end: match step {
                CompactionStep::Completed { summary, kept } => v1::CompactionEnd::Completed { summary, kept },
                CompactionStep::Failed(why) => v1::CompactionEnd::Failed(why),
                CompactionStep::Cancelled => v1::CompactionEnd::Cancelled,
                CompactionStep::Started | CompactionStep::Text(_) => return None,
            },
        },
        SessionEvent::MessageDelta { .. }
        | SessionEvent::ThoughtDelta { .. }
        | SessionEvent::Notice { .. }
        | SessionEvent::Phase(_)
        | SessionEvent::Commands(_)
        | SessionEvent::Shell(_)
        | SessionEvent::BranchChanged(_)
        | SessionEvent::Swarm(_) => return None,
    })
}

fn host_use(used: HostUse) -> v1::HostUse {
    let HostUse { destination, connections, sent, received, refused, rule } = used;
    let (host, port) = (destination.host_text(), destination.port());
    v1::HostUse { host, port, connections, sent, received, refused, rule }
}

fn goal(goal: Goal) -> v1::Goal {
    v1::Goal {
        id: goal.id,
        objective: goal.objective,
        status: goal.status.into(),
        reason: goal.reason,
        token_budget: goal.token_budget,
        tokens_used: goal.tokens_used,
        seconds_used: goal.seconds_used,
        metered: goal.metered,
    }
}

fn task(task: Task) -> v1::Task {
    v1::Task {
        id: task.id,
        subject: task.subject,
        description: task.description,
        active_form: task.active_form,
        parent: task.parent,
        status: task.status.into(),
        blocked_by: task.blocked_by,
    }
}

fn contents(contents: Vec<Content>) -> Vec<v1::Content> {
    contents.into_iter().map(content).collect()
}

fn content(content: Content) -> v1::Content {
    match content {
        Content::Text(text) => v1::Content::Text { text },
        Content::Image { mime_type, data } => v1::Content::Image { mime_type, data },
        Content::ResourceLink { uri, name } => v1::Content::ResourceLink { uri, name },
        Content::Resource { uri, mime_type, text } => v1::Content::Resource { uri, mime_type, text },
    }
}

/// Format 1 can represent reasoning followed by one text. Other answers use format 6, which stores
/// calls as the model wrote them.
fn answer(response: ModelResponse) -> v1::Event {
    let ModelResponse { id, thought_id, model, items } = response;
    let (id, thought_id) = (id.0, thought_id.0);
    let last = items.len().saturating_sub(1);
    let is_plain = items.iter().enumerate().all(|(at, item)| match item {
        Item::Reasoning(_) => true,
        Item::Text(text) => at == last && text.opaque.is_none() && !text.text.is_empty(),
        Item::Call(_) | Item::Other(_) => false,
    });
    if !is_plain {
        return v1::Event::Answer { id, thought_id, model, items: items.into_iter().map(item).collect() };
    }
    let (mut reasoning, mut text) = (Vec::new(), String::new());
    for item in items {
        match item {
            Item::Reasoning(part) => reasoning.push(self::reasoning(part)),
            Item::Text(last) => text = last.text,
            Item::Call(_) | Item::Other(_) => {}
        }
    }
    v1::Event::ModelResponse { id, thought_id, model, reasoning, text, calls: Vec::new() }
}

fn item(item: Item<ToolCallRequest>) -> v1::Item {
    match item {
        Item::Text(Text { text, opaque }) => v1::Item::Text { text, opaque },
        Item::Reasoning(part) => v1::Item::Reasoning(reasoning(part)),
        Item::Call(request) => v1::Item::Call(Box::new(call(request))),
        Item::Other(opaque) => v1::Item::Other { opaque },
    }
}

fn reasoning(part: Reasoning) -> v1::Reasoning {
    v1::Reasoning { text: part.text, opaque: part.opaque }
}

fn call(call: ToolCallRequest) -> v1::WrittenCall {
    let Written { name, arguments, opaque } = call.written;
    let is_as_written = call.name == name && call.arguments == read_arguments(&arguments);
    let read = (!is_as_written).then(|| v1::ReadCall {
        name: call.name,
        arguments: match call.arguments {
            Ok(value) => v1::Arguments::Json(value.to_string()),
            Err(malformed) => v1::Arguments::Malformed { raw: malformed.raw, error: malformed.error },
        },
    });
    v1::WrittenCall { id: call.id.0, provider_id: call.provider_id, name, arguments, opaque, read }
}

fn tool_call(update: ToolCallUpdate) -> v1::ToolCall {
    v1::ToolCall {
        id: update.id.0,
        name: update.name,
        title: update.display.title,
        tool_kind: update.display.kind.map(Into::into),
        status: update.status.map(Into::into),
        content: update.display.content.map(|shown| shown.into_iter().map(tool_content).collect()),
        locations: update.display.locations.map(|places| {
            places
                .into_iter()
                .map(|place| v1::Location { path: place.path.as_str().to_owned(), line: place.line })
                .collect()
        }),
        raw_input: update.display.raw_input.map(|value| value.to_string()),
        result: update.result.map(result),
        colours: colours::stored(&update.colours),
    }
}

fn tool_content(shown: ToolContent) -> v1::ToolContent {
    match shown {
        ToolContent::Content(shown) => v1::ToolContent::Content(content(shown)),
        ToolContent::Diff(diff) => v1::ToolContent::Diff {
            path: diff.path.as_str().to_owned(),
            old_text: diff.old_text,
            new_text: diff.new_text,
        },
        ToolContent::Terminal(id) => v1::ToolContent::Terminal(id.0),
    }
}

fn result(result: ToolResult) -> v1::ToolResult {
    v1::ToolResult { text: result.text, images: contents(result.images), is_error: result.is_error }
}

fn tool(spec: &ToolSpec) -> v1::Tool {
    v1::Tool {
        name: spec.name.clone(),
        description: spec.description.clone(),
        parameters: spec.parameters.to_string(),
    }
}

fn file_change(change: FileChange) -> v1::FileChange {
    v1::FileChange {
        real: (change.real != change.path).then(|| change.real.as_str().to_owned()),
        path: change.path.as_str().to_owned(),
        before: change.before.map(snapshot),
        after: change.after.map(snapshot),
        agent: change.agent,
    }
}

fn snapshot(snapshot: Snapshot) -> v1::Snapshot {
    v1::Snapshot { hash: snapshot.hash.0, size: snapshot.size }
}
