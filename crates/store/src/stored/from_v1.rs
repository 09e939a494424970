//! Converts formats 1 to 11 to the domain. Errors are sentences about what is damaged.

use super::{colours, v1};
use agent::{
    AnswerPart, Briefing, Compaction, CompactionId, CompactionStep, Content, ContentHash, Destination, Diff,
    FileChange, Goal, HostUse, Item, Location, MalformedArguments, MessageId, ModelCall, ModelResponse,
    NetworkUse, PlanEntry, Prefix, PromptId, Reasoning, ResultsLeftOut, Rewound, SessionEvent, Snapshot,
    Task, Text, ToolCallDisplay, ToolCallId, ToolCallRequest, ToolCallUpdate, ToolContent, ToolResult,
    ToolSpec, TurnEnd, TurnId, Usage, UsageUpdate, Written,
};
use serde_json::Value;
use system::{AbsPath, TerminalId};

pub(super) fn event(event: v1::Event) -> Result<SessionEvent, String> {
    Ok(match event {
        v1::Event::TurnStarted { turn, prompt } => SessionEvent::TurnStarted {
            turn: TurnId(turn),
            // An id that no client can send is of no use.
            prompt: prompt.and_then(|prompt| PromptId::new(prompt).ok()),
        },
        v1::Event::UserMessage { id, content } => {
            SessionEvent::UserMessage { id: MessageId(id), content: contents(content) }
        }
        v1::Event::ModelResponse { id, thought_id, model, reasoning, text, calls } => {
            let text = (!text.is_empty()).then(|| Item::Text(Text::plain(text)));
            let reasoning = reasoning.into_iter().map(|part| Ok(Item::Reasoning(self::reasoning(part))));
            let calls = calls.into_iter().map(|stored| Ok(Item::Call(call(stored)?)));
            let items = reasoning.chain(text.map(Ok)).chain(calls).collect::<Result<_, String>>()?;
            SessionEvent::ModelResponse(ModelResponse {
                id: MessageId(id),
                thought_id: MessageId(thought_id),
                model,
                items,
            })
        }
        v1::Event::Answer { id, thought_id, model, items } => SessionEvent::ModelResponse(ModelResponse {
            id: MessageId(id),
            thought_id: MessageId(thought_id),
            model,
            items: items.into_iter().map(item).collect::<Result<_, _>>()?,
        }),
        v1::Event::ToolCall(update) => SessionEvent::ToolCall(tool_call(*update)?),
        v1::Event::PermissionRequested { id, question } => {
            SessionEvent::PermissionRequested { id: ToolCallId(id), question }
        }
        v1::Event::PermissionResolved { id, outcome, rule } => {
            SessionEvent::PermissionResolved { id: ToolCallId(id), outcome: outcome.into(), rule }
        }
        v1::Event::Plan { entries } => SessionEvent::Plan(
            entries
                .into_iter()
                .map(|entry| PlanEntry {
                    content: entry.content,
                    priority: entry.priority.into(),
                    status: entry.status.into(),
                })
                .collect(),
        ),
        v1::Event::Tasks { tasks } => SessionEvent::Tasks(tasks.into_iter().map(task).collect()),
        v1::Event::Goal { goal } => SessionEvent::Goal(goal.map(self::goal)),
        v1::Event::Usage { model, context_used, context_size, total, subagents, counted } => {
            SessionEvent::Usage(UsageUpdate {
                model,
                context_used,
                context_size,
                total: total.into(),
                subagents: subagents.map(Usage::from).unwrap_or_default(),
                turn: Usage::default(),
                counted,
            })
        }
        v1::Event::Subagent(state) => SessionEvent::Subagent(Box::new((*state).try_into()?)),
        v1::Event::NetworkUsed { call, hosts } => {
            let hosts = hosts.into_iter().map(host_use).collect();
            SessionEvent::NetworkUsed(NetworkUse { call: ToolCallId(call), hosts })
        }
        v1::Event::FileChanged(change) => SessionEvent::FileChanged(file_change(change)?),
        v1::Event::Rewound { to, files } => {
            let files = files.into_iter().map(file_change).collect::<Result<_, _>>()?;
            SessionEvent::Rewound(Rewound { to, files })
        }
        v1::Event::AnswerPart { id, thought_id, model, text, thoughts } => {
            let (id, thought_id) = (MessageId(id), MessageId(thought_id));
            SessionEvent::AnswerPart(AnswerPart { id, thought_id, model, text, thoughts })
        }
        v1::Event::ResultsLeftOut { calls, instead } => {
            let calls = calls.into_iter().map(ToolCallId).collect();
            SessionEvent::ResultsLeftOut(ResultsLeftOut { calls, instead })
        }
        v1::Event::Prefix { model, system, tools } => {
            let tools = tools.into_iter().map(tool).collect::<Result<_, _>>()?;
            SessionEvent::Prefix(Prefix { model, system: system.into(), tools })
        }
        v1::Event::Briefing { text, facts } => SessionEvent::Briefing(Briefing { text, facts }),
        v1::Event::Compaction { id, end } => SessionEvent::Compaction(Compaction {
            id: CompactionId(id),
            step: match end {
                v1::CompactionEnd::Completed { summary, kept } => CompactionStep::Completed { summary, kept },
                v1::CompactionEnd::Failed(why) => CompactionStep::Failed(why),
                v1::CompactionEnd::Cancelled => CompactionStep::Cancelled,
            },
        }),
        v1::Event::ModeChanged { mode } => SessionEvent::ModeChanged(mode.into()),
        v1::Event::PermissionModeChanged { permission_mode } => {
            SessionEvent::PermissionModeChanged(permission_mode.into())
        }
        v1::Event::ModelChanged { model } => SessionEvent::ModelChanged(model),
        v1::Event::EffortChanged { effort } => SessionEvent::EffortChanged(effort.map(Into::into)),
        v1::Event::TitleChanged { title } => SessionEvent::TitleChanged(title),
        v1::Event::TurnEnded { turn, end } => SessionEvent::TurnEnded {
            turn: TurnId(turn),
            end: match end {
                v1::TurnEnd::Stopped(reason) => TurnEnd::Stopped(reason.into()),
                v1::TurnEnd::Failed(message) => TurnEnd::Failed(message),
            },
        },
    })
}

fn host_use(stored: v1::HostUse) -> HostUse {
    let v1::HostUse { host, port, connections, sent, received, refused, rule } = stored;
    HostUse { destination: Destination::recorded(host, port), connections, sent, received, refused, rule }
}

fn goal(goal: v1::Goal) -> Goal {
    Goal {
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

fn task(task: v1::Task) -> Task {
    Task {
        id: task.id,
        subject: task.subject,
        description: task.description,
        active_form: task.active_form,
        parent: task.parent,
        status: task.status.into(),
        blocked_by: task.blocked_by,
    }
}

fn contents(contents: Vec<v1::Content>) -> Vec<Content> {
    contents.into_iter().map(content).collect()
}

fn content(content: v1::Content) -> Content {
    match content {
        v1::Content::Text { text } => Content::Text(text),
        v1::Content::Image { mime_type, data } => Content::Image { mime_type, data },
        v1::Content::ResourceLink { uri, name } => Content::ResourceLink { uri, name },
        v1::Content::Resource { uri, mime_type, text } => Content::Resource { uri, mime_type, text },
    }
}

/// Older programs stored only the parsed form of a call.
fn call(call: v1::Call) -> Result<ToolCallRequest, String> {
    let arguments = match &call.arguments {
        v1::Arguments::Json(text) => text.clone(),
        v1::Arguments::Malformed { raw, .. } => raw.clone(),
    };
    Ok(ToolCallRequest {
        id: ToolCallId(call.id),
        provider_id: call.provider_id,
        written: Written { name: call.name.clone(), arguments, opaque: None },
        name: call.name,
        arguments: read(call.arguments)?,
    })
}

fn tool(spec: v1::Tool) -> Result<ToolSpec, String> {
    let parameters = serde_json::from_str(&spec.parameters)
        .map_err(|error| format!("the schema of the tool {} is not valid JSON: {error}", spec.name))?;
    Ok(ToolSpec { name: spec.name, description: spec.description, parameters })
}

fn read(arguments: v1::Arguments) -> Result<Result<Value, MalformedArguments>, String> {
    Ok(match arguments {
        v1::Arguments::Json(text) => Ok(json(&text)?),
        v1::Arguments::Malformed { raw, error } => Err(MalformedArguments { raw, error }),
    })
}

fn item(item: v1::Item) -> Result<Item<ToolCallRequest>, String> {
    Ok(match item {
        v1::Item::Text { text, opaque } => Item::Text(Text { text, opaque }),
        v1::Item::Reasoning(part) => Item::Reasoning(reasoning(part)),
        v1::Item::Call(call) => Item::Call(written_call(*call)?),
        v1::Item::Other { opaque } => Item::Other(opaque),
    })
}

fn reasoning(part: v1::Reasoning) -> Reasoning {
    Reasoning { text: part.text, opaque: part.opaque }
}

fn written_call(call: v1::WrittenCall) -> Result<ToolCallRequest, String> {
    let v1::WrittenCall { id, provider_id, name, arguments, opaque, read } = call;
    let mut call = ToolCallRequest::new(ToolCallId(id), ModelCall { provider_id, name, arguments, opaque });
    if let Some(v1::ReadCall { name, arguments }) = read {
        call.name = name;
        call.arguments = self::read(arguments)?;
    }
    Ok(call)
}

fn tool_call(update: v1::ToolCall) -> Result<ToolCallUpdate, String> {
    Ok(ToolCallUpdate {
        id: ToolCallId(update.id),
        name: update.name,
        status: update.status.map(Into::into),
        display: ToolCallDisplay {
            title: update.title,
            kind: update.tool_kind.map(Into::into),
            content: update
                .content
                .map(|shown| shown.into_iter().map(tool_content).collect::<Result<_, _>>())
                .transpose()?,
            locations: update
                .locations
                .map(|places| places.into_iter().map(location).collect::<Result<_, _>>())
                .transpose()?,
            raw_input: update.raw_input.as_deref().map(json).transpose()?,
            place: None,
        },
        result: update.result.map(|result| ToolResult {
            text: result.text,
            images: contents(result.images),
            is_error: result.is_error,
        }),
        output: None,
        colours: colours::read(update.colours),
    })
}

fn tool_content(shown: v1::ToolContent) -> Result<ToolContent, String> {
    Ok(match shown {
        v1::ToolContent::Content(shown) => ToolContent::Content(content(shown)),
        v1::ToolContent::Diff { path: text, old_text, new_text } => {
            ToolContent::Diff(Diff { path: path(&text)?, old_text, new_text })
        }
        v1::ToolContent::Terminal(id) => ToolContent::Terminal(TerminalId(id)),
    })
}

fn location(place: v1::Location) -> Result<Location, String> {
    Ok(Location { path: path(&place.path)?, line: place.line })
}

fn path(text: &str) -> Result<AbsPath, String> {
    AbsPath::new(text).map_err(|error| error.to_string())
}

fn json(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("the arguments are not valid JSON: {error}"))
}

fn file_change(change: v1::FileChange) -> Result<FileChange, String> {
    let path = AbsPath::new(&change.path).map_err(|error| error.to_string())?;
    let real = match change.real {
        Some(real) => AbsPath::new(&real).map_err(|error| error.to_string())?,
        None => path.clone(),
    };
    let (before, after) = (change.before.map(snapshot), change.after.map(snapshot));
    Ok(FileChange { path, real, before, after, agent: change.agent })
}

fn snapshot(snapshot: v1::Snapshot) -> Snapshot {
    Snapshot { hash: ContentHash(snapshot.hash), size: snapshot.size, bytes: None }
}
