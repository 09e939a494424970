//! Generated sessions, as their events come live.

use super::{call, delta, ended, printed, user};
use agent::{
    Content, Item, ModelResponse, PermissionOutcome, PlanEntry, PlanPriority, PlanStatus, Reasoning,
    SessionEvent, StopReason, SubagentState, SubagentStatus, Text, ToolCallUpdate, ToolContent, ToolKind,
    ToolResult, ToolStatus, TurnEnd,
};
use proptest::prelude::*;

/// A round of a turn: an answer and the calls it makes.
#[derive(Debug, Clone)]
pub(super) struct Round {
    /// Pieces of text (true) and reasoning, each an item of its own.
    items: Vec<(bool, String)>,
    /// Where the stream cuts the items.
    cut: usize,
    calls: Vec<Call>,
}

#[derive(Debug, Clone)]
struct Call {
    kind: ToolKind,
    prints: Vec<String>,
    end: ToolStatus,
    asks: bool,
    has_content: bool,
}

#[derive(Debug, Clone)]
pub(super) enum Step {
    User(String),
    Round(Round),
    Plan(usize),
    Mode(bool),
    Notice(String),
    Subagent(SubagentStatus),
    Compaction(bool),
    Turn(TurnEnd),
}

fn text() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec![
        "word ",
        "a longer sentence, ",
        "**b** ",
        "\n",
        "\n\n",
        "- item\n",
        "1. one\n",
        "```rust\nlet x = 1;\n```\n",
        "```\n",
        "# head\n",
        "> said\n",
        "| a | b |\n|---|---|\n| 1 | 2 |\n",
        "漢字 ",
        "é",
    ]);
    prop::collection::vec(part, 1..12).prop_map(|parts| parts.concat())
}

fn round() -> impl Strategy<Value = Round> {
    let kind = prop::sample::select(vec![ToolKind::Read, ToolKind::Edit, ToolKind::Execute, ToolKind::Other]);
    let end = prop::sample::select(vec![
        ToolStatus::Completed,
        ToolStatus::Failed,
        ToolStatus::Cancelled,
        ToolStatus::Interrupted,
    ]);
    let prints = prop::collection::vec("[a-z\n]{1,30}", 0..3);
    let call = (kind, prints, end, any::<bool>(), any::<bool>())
        .prop_map(|(kind, prints, end, asks, has_content)| Call { kind, prints, end, asks, has_content });
    let items = prop::collection::vec((any::<bool>(), text()), 0..4);
    (items, 1_usize..20, prop::collection::vec(call, 0..3)).prop_map(|(items, cut, calls)| Round {
        items,
        cut,
        calls,
    })
}

/// Returns the steps of a session.
pub(super) fn session() -> impl Strategy<Value = Vec<Step>> {
    let status = prop::sample::select(vec![
        SubagentStatus::Queued,
        SubagentStatus::Running,
        SubagentStatus::Done,
        SubagentStatus::Failed,
    ]);
    let end = prop::sample::select(vec![
        TurnEnd::Stopped(StopReason::EndTurn),
        TurnEnd::Stopped(StopReason::Cancelled),
        TurnEnd::Failed("the provider is down\ntry again".to_owned()),
    ]);
    let step = prop_oneof![
        2 => "[a-z ]{1,60}".prop_map(Step::User),
        6 => round().prop_map(Step::Round),
        1 => (0_usize..4).prop_map(Step::Plan),
        1 => any::<bool>().prop_map(Step::Mode),
        1 => "[a-z]{1,9}".prop_map(Step::Notice),
        1 => status.prop_map(Step::Subagent),
        1 => any::<bool>().prop_map(Step::Compaction),
        1 => end.prop_map(Step::Turn),
    ];
    prop::collection::vec(step, 1..12)
}

/// Returns the events of a session as a client gets them.
pub(super) fn events(steps: &[Step]) -> Vec<SessionEvent> {
    let (mut out, mut calls) = (Vec::new(), 0);
    for (number, step) in steps.iter().enumerate() {
        match step {
            Step::User(text) => out.push(user(text)),
            Step::Round(round) => answer(number, round, &mut calls, &mut out),
            Step::Plan(done) => out.push(SessionEvent::Plan(
                (0..4)
                    .map(|at| PlanEntry {
                        content: format!("step {at}"),
                        priority: PlanPriority::Medium,
                        status: if at < *done { PlanStatus::Completed } else { PlanStatus::Pending },
                    })
                    .collect(),
            )),
            Step::Mode(plan) => {
                out.push(SessionEvent::ModeChanged(if *plan {
                    agent::Mode::Plan
                } else {
                    agent::Mode::Edit
                }));
            }
            Step::Notice(title) => out.push(SessionEvent::Notice {
                severity: agent::Severity::Info,
                title: title.clone(),
                description: None,
            }),
            Step::Subagent(status) => {
                let mut state = SubagentState { id: "docs".to_owned(), ..SubagentState::default() };
                state.progress.status = *status;
                out.push(SessionEvent::Subagent(Box::new(state)));
            }
            Step::Compaction(works) => {
                let id = || agent::CompactionId(format!("compaction_{number}"));
                let step = |step| SessionEvent::Compaction(agent::Compaction { id: id(), step });
                out.push(step(agent::CompactionStep::Started));
                out.push(step(agent::CompactionStep::Text("so far".to_owned())));
                out.push(step(match works {
                    true => agent::CompactionStep::Completed { summary: "in short".to_owned(), kept: 1 },
                    false => agent::CompactionStep::Failed("too long".to_owned()),
                }));
            }
            Step::Turn(end) => {
                out.push(ended("run", end.clone()));
                out.push(SessionEvent::TurnStarted { turn: "run".into(), prompt: None });
            }
        }
    }
    out
}

fn answer(number: usize, round: &Round, calls: &mut usize, out: &mut Vec<SessionEvent>) {
    let (id, thought_id) = (format!("m{number}"), format!("t{number}"));
    let items = round.items.iter().map(|(is_text, text)| match is_text {
        true => Item::Text(Text::plain(text)),
        false => Item::Reasoning(Reasoning { text: text.clone(), opaque: None }),
    });
    let response = ModelResponse {
        id: id.as_str().into(),
        thought_id: thought_id.as_str().into(),
        model: "m".to_owned(),
        items: items.collect(),
    };
    // What is streamed has the same separators of items as the whole texts: what an item adds.
    let whole = |count: usize, is_text: bool| {
        let response = ModelResponse { items: response.items[..count].to_vec(), ..response.clone() };
        if is_text { response.text() } else { response.thoughts() }
    };
    for (at, (is_text, _)) in round.items.iter().enumerate() {
        let mut piece = whole(at + 1, *is_text).split_off(whole(at, *is_text).len());
        while !piece.is_empty() {
            let cut = agent::ceil_char_boundary(&piece, round.cut.min(piece.len()));
            let part: String = piece.drain(..cut).collect();
            out.push(match is_text {
                true => delta(&id, &part),
                false => SessionEvent::ThoughtDelta { id: thought_id.as_str().into(), text: part },
            });
        }
    }
    if !response.items.is_empty() {
        out.push(SessionEvent::ModelResponse(response));
    }
    let ids: Vec<_> = round
        .calls
        .iter()
        .map(|_| {
            *calls += 1;
            format!("c{calls}")
        })
        .collect();
    let update = |at: usize, status| {
        let name = if round.calls[at].kind == ToolKind::Execute { "bash" } else { "file_read" };
        call(&ids[at], name, "Run something", round.calls[at].kind, status)
    };
    let all = 0..round.calls.len();
    out.extend(all.clone().map(|at| SessionEvent::ToolCall(update(at, ToolStatus::Pending))));
    // The calls run in parallel and end in reverse order.
    for at in all.clone() {
        let asked = &round.calls[at];
        if asked.asks {
            let id = || ids[at].as_str().into();
            out.push(SessionEvent::PermissionRequested { id: id(), question: "may it?".to_owned() });
            out.push(SessionEvent::PermissionResolved {
                id: id(),
                outcome: if asked.has_content {
                    PermissionOutcome::AllowOnce
                } else {
                    PermissionOutcome::RejectOnce
                },
                rule: "user".to_owned(),
            });
        }
        out.push(SessionEvent::ToolCall(update(at, ToolStatus::InProgress)));
        out.extend(asked.prints.iter().map(|text| printed(&ids[at], "bash", text)));
    }
    for at in all.rev() {
        let asked = &round.calls[at];
        let mut end = update(at, asked.end);
        if asked.has_content {
            let text = Content::text(asked.prints.concat());
            let colours = crate::safety::corpus::hostile_colours(&asked.prints.concat());
            // What is shown has colours only if it is what the model gets.
            let result = if asked.asks { asked.prints.concat() } else { "for the model".to_owned() };
            end = ToolCallUpdate { result: Some(ToolResult::ok(result)), colours, ..end };
            end.display.content = Some(vec![ToolContent::Content(text)]);
        }
        out.push(SessionEvent::ToolCall(end));
    }
}
