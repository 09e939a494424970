//! Everything that happens in a session, as one stream of events.
//!
//! Architecture Invariant: the same events feed the client, the native layer, the headless output
//! and the store. Each of those is a projection; none is a second source. Events are shaped like
//! those of the second version of the Agent Client Protocol: upserts by id, so that the whole state
//! follows from the log.

pub(crate) mod compaction;
pub(crate) mod content;
pub(crate) mod effort;
pub(crate) mod file_change;
pub(crate) mod goal;
pub(crate) mod ids;
pub(crate) mod item;
pub(crate) mod mode;
pub(crate) mod network;
pub(crate) mod permission;
pub(crate) mod plan;
pub(crate) mod prefix;
pub(crate) mod shell;
pub(crate) mod slash_command;
pub(crate) mod specs;
pub(crate) mod swarm;
pub(crate) mod task;
pub(crate) mod tool_call;
pub(crate) mod usage;

use crate::{
    Briefing, Compaction, Content, Effort, FileChange, Goal, Item, MessageId, Mode, NetworkUse,
    PermissionMode, PlanEntry, Prefix, PromptId, Reasoning, Rewound, ShellUpdate, SlashCommand, Snapshot,
    SubagentState, SwarmEvent, Task, Text, ToolCallId, ToolCallRequest, ToolCallUpdate, TurnId, Usage,
};

/// An event of a session.
#[derive(Debug, Clone, PartialEq)]
pub enum SessionEvent {
    /// A prompt's turn began.
    TurnStarted {
        /// The turn.
        turn: TurnId,
        /// The id that the client gave the prompt, if it gave one.
        prompt: Option<PromptId>,
    },
    /// A message of the user, or of another driver of the session. Stored before anything is done
    /// about it.
    UserMessage {
        /// The message.
        id: MessageId,
        /// Its content.
        content: Vec<Content>,
    },
    /// More of the assistant's text. Live only: the whole text is in
    /// [`SessionEvent::ModelResponse`].
    MessageDelta {
        /// The message it belongs to.
        id: MessageId,
        /// The text to append.
        text: String,
    },
    /// More of the model's reasoning. Live only.
    ThoughtDelta {
        /// The thought it belongs to.
        id: MessageId,
        /// The text to append.
        text: String,
    },
    /// A complete answer of the model: reasoning, text and the calls it makes. Stored before a call
    /// runs.
    ModelResponse(ModelResponse),
    /// More of an answer that the model is still writing, so that a crash does not lose it. At most
    /// one a second is stored. The [`SessionEvent::ModelResponse`] with the same ids replaces all
    /// of them; clients are shown the deltas instead.
    AnswerPart(AnswerPart),
    /// A tool call was created, started, changed or ended. Only the fields that are set change.
    ToolCall(ToolCallUpdate),
    /// A permission is being requested.
    PermissionRequested {
        /// The call it is for.
        id: ToolCallId,
        /// The question, for display.
        question: String,
    },
    /// A permission was granted or refused.
    PermissionResolved {
        /// The call it was for.
        id: ToolCallId,
        /// The answer.
        outcome: crate::PermissionOutcome,
        /// The rule or source that decided: `user`, `SessionGrant`, ….
        rule: String,
    },
    /// The plan that older versions recorded instead of [`SessionEvent::Tasks`]; replaces the one
    /// before.
    Plan(Vec<PlanEntry>),
    /// All tasks of the session, in the order they were created; replaces those before. Stored
    /// together with the end of the call that changed them. Clients show it as the plan
    /// ([`crate::plan_of`]).
    Tasks(Vec<Task>),
    /// The goal was set, changed or removed. Tokens used since follow from
    /// [`SessionEvent::Usage`] ([`crate::apply_to_goal`]).
    Goal(Option<Goal>),
    /// Tokens used; sent after each answer of the model.
    Usage(UsageUpdate),
    /// The agent mode changed.
    ModeChanged(Mode),
    /// The permission mode changed.
    PermissionModeChanged(PermissionMode),
    /// The model changed; the value is its full id.
    ModelChanged(String),
    /// The reasoning effort changed; `None` leaves it to the model.
    EffortChanged(Option<Effort>),
    /// The session's title changed.
    TitleChanged(String),
    /// What git has checked out in the session's directory changed: a branch, or the beginning of a
    /// commit in parentheses; `None` outside of a repository. Live only, since it is a fact about
    /// the directory; the store keeps the last one in [`crate::SessionRecord::branch`].
    BranchChanged(Option<String>),
    /// Information for the user that is not part of the conversation. Live only.
    Notice {
        /// Its severity.
        severity: Severity,
        /// One line.
        title: String,
        /// The rest, if any.
        description: Option<String>,
    },
    /// The current activity of the turn. Live only.
    Phase(Phase),
    /// The available slash commands changed; the value is all of them. Live only.
    Commands(Vec<SlashCommand>),
    /// A background command started or ended. Live only.
    Shell(ShellUpdate),
    /// The state of the subagents changed. Live only.
    Swarm(SwarmEvent),
    /// A subagent was requested, began or ended, or its result was delivered. The value is its
    /// state, which replaces the one before.
    Subagent(Box<SubagentState>),
    /// A tool changed a file, in this session or in that of a subagent. Stored together with the
    /// end of its call, or before it if a subagent made the call.
    FileChanged(FileChange),
    /// Commands used the network, or were refused it. Stored before the end of the call.
    NetworkUsed(NetworkUse),
    /// The user rewound changes of files.
    Rewound(Rewound),
    /// The conversation is being compacted, or was.
    Compaction(Compaction),
    /// Results of calls are no longer sent to models.
    ResultsLeftOut(ResultsLeftOut),
    /// The fixed beginning of requests to a model, from now on in this session.
    Prefix(Prefix),
    /// Tiller itself sent a message to the model.
    Briefing(Briefing),
    /// The turn ended.
    TurnEnded {
        /// The turn.
        turn: TurnId,
        /// How it ended.
        end: TurnEnd,
    },
}

impl SessionEvent {
    /// Returns whether the store keeps the event.
    pub fn is_durable(&self) -> bool {
        match self {
            Self::MessageDelta { .. }
            | Self::ThoughtDelta { .. }
            | Self::BranchChanged(_)
            | Self::Notice { .. }
            | Self::Phase(_)
            | Self::Commands(_)
            | Self::Shell(_)
            | Self::Swarm(_) => false,
            // Progress of a running call is for subscribers only; its creation, start and end are
            // stored.
            Self::ToolCall(update) => update.status.is_some(),
            Self::Compaction(compaction) => compaction.step.is_final(),
            _ => true,
        }
    }

    /// Returns the snapshots of files in the event.
    pub fn snapshots_mut(&mut self) -> impl Iterator<Item = &mut Snapshot> {
        let changes = match self {
            Self::FileChanged(change) => std::slice::from_mut(change),
            Self::Rewound(Rewound { files, .. }) => files.as_mut_slice(),
            _ => &mut [],
        };
        changes.iter_mut().flat_map(FileChange::snapshots_mut)
    }
}

/// A complete answer of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelResponse {
    /// The message's id, as in its deltas.
    pub id: MessageId,
    /// The id of the reasoning, as in its deltas.
    pub thought_id: MessageId,
    /// The model that answered.
    pub model: String,
    /// Its items, in the model's order.
    pub items: Vec<Item<ToolCallRequest>>,
}

impl ModelResponse {
    /// Creates an answer of a single text.
    pub fn from_text(
        id: MessageId,
        thought_id: MessageId,
        model: impl Into<String>,
        text: impl Into<String>,
    ) -> Self {
        Self { id, thought_id, model: model.into(), items: vec![Item::Text(Text::plain(text))] }
    }

    /// Returns its text for display; may be empty.
    pub fn text(&self) -> String {
        item::text_of(&self.items)
    }

    /// Returns its reasoning for display; may be empty.
    pub fn thoughts(&self) -> String {
        item::thoughts_of(&self.items)
    }

    /// Returns its tool calls, in order.
    pub fn calls(&self) -> impl DoubleEndedIterator<Item = &ToolCallRequest> {
        item::calls_of(&self.items)
    }

    /// Returns whether it has tool calls.
    pub fn has_calls(&self) -> bool {
        self.calls().next().is_some()
    }
}

/// More of an answer that is still being written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerPart {
    /// The answer's id, as in its deltas.
    pub id: MessageId,
    /// The id of the reasoning, as in its deltas.
    pub thought_id: MessageId,
    /// The model that answers.
    pub model: String,
    /// The text since the last part; may be empty.
    pub text: String,
    /// The reasoning since the last part; may be empty.
    pub thoughts: String,
}

impl AnswerPart {
    /// Collects the parts of the answer that an event leaves unfinished.
    pub(crate) fn collect(unfinished: &mut Option<Self>, event: &SessionEvent) {
        match (event, &mut *unfinished) {
            (SessionEvent::AnswerPart(next), Some(before)) if before.id == next.id => {
                before.text.push_str(&next.text);
                before.thoughts.push_str(&next.thoughts);
            }
            (SessionEvent::AnswerPart(first), _) => *unfinished = Some(first.clone()),
            (
                SessionEvent::ModelResponse(_)
                | SessionEvent::TurnStarted { .. }
                | SessionEvent::TurnEnded { .. },
                _,
            ) => *unfinished = None,
            _ => {}
        }
    }

    /// Returns the answer as it was cut off by the end of its process, with a mark at its end.
    pub(crate) fn cut_off(self) -> ModelResponse {
        let gap = if self.text.is_empty() { "" } else { "\n\n" };
        let text = Item::Text(Text::plain(format!("{}{gap}{ANSWER_CUT_OFF}", self.text)));
        let thoughts = Reasoning { text: self.thoughts, opaque: None };
        let thoughts = (!thoughts.text.is_empty()).then_some(Item::Reasoning(thoughts));
        let items = thoughts.into_iter().chain([text]).collect();
        ModelResponse { id: self.id, thought_id: self.thought_id, model: self.model, items }
    }
}

/// The mark at the end of an answer whose process ended.
const ANSWER_CUT_OFF: &str = "[cut off here: the process ended]";

/// Call results that are no longer sent to models, to make room. The log keeps them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultsLeftOut {
    /// The calls. Calls that are not in the conversation any more are ignored.
    pub calls: Vec<ToolCallId>,
    /// The text that replaces each result.
    pub instead: String,
}

/// Tokens and cost of the session so far.
#[derive(Debug, Clone, PartialEq)]
pub struct UsageUpdate {
    /// The model.
    pub model: String,
    /// Tokens in the model's context now.
    pub context_used: u64,
    /// The context's size in tokens.
    pub context_size: u64,
    /// All tokens of the session so far, without those of its subagents.
    pub total: Usage,
    /// All tokens of its subagents so far.
    pub subagents: Usage,
    /// The running turn's share of `total`. Not stored: zero if the event comes from the store.
    pub turn: Usage,
    /// The provider's token count for the last answered request; `None` if the provider sent none,
    /// or the event does not follow an answer.
    pub counted: Option<u64>,
}

impl UsageUpdate {
    /// Returns all tokens of the session and its subagents so far.
    pub fn sum(&self) -> Usage {
        let mut sum = self.total;
        sum += self.subagents;
        sum
    }
}

/// The severity of a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the protocol's own words")]
pub enum Severity {
    Info,
    Warning,
    Error,
}

/// The current activity of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Waiting for the model or reading its answer.
    Thinking,
    /// Running tools.
    Tools,
    /// Nothing.
    Idle,
}

/// The message of a turn that was cut off by the end of its process. Part of the stored form: the
/// log is read for it.
pub(crate) const PROCESS_ENDED: &str = "the process ended in the middle of the turn";

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnEnd {
    /// Normally.
    Stopped(StopReason),
    /// With an error; the value is the message sent to the client.
    Failed(String),
}

/// Why a turn stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// The model finished its answer.
    EndTurn,
    /// The model's output limit was reached.
    MaxTokens,
    /// The limit of model requests in one turn was reached.
    MaxTurnRequests,
    /// The model refused.
    Refusal,
    /// The client cancelled.
    Cancelled,
    /// It stopped between two requests so that another process can go on with it. The session's
    /// next owner does; clients do not see this end.
    Suspended,
}

impl StopReason {
    /// Returns the reason as an id for programs.
    pub fn id(self) -> &'static str {
        match self {
            Self::EndTurn => "end_turn",
            Self::MaxTokens => "max_tokens",
            Self::MaxTurnRequests => "max_turn_requests",
            Self::Refusal => "refusal",
            Self::Cancelled => "cancelled",
            Self::Suspended => "suspended",
        }
    }
}
