//! What happens in a session, as one stream of events.
//!
//! Architecture Invariant: the same events feed the client, the native layer, the headless output and the store. Each of those is a
//! projection; none is a second source. Events are shaped like the protocol's second version: upserts by id, so that the whole
//! state follows from the log.

pub(crate) mod compaction;
pub(crate) mod content;
pub(crate) mod effort;
pub(crate) mod file_change;
pub(crate) mod ids;
pub(crate) mod item;
pub(crate) mod mode;
pub(crate) mod permission;
pub(crate) mod plan;
pub(crate) mod prefix;
pub(crate) mod slash_command;
pub(crate) mod specs;
pub(crate) mod swarm;
pub(crate) mod tool_call;
pub(crate) mod usage;

use crate::{
    Briefing, Compaction, Content, Effort, FileChange, Item, MessageId, Mode, PermissionMode, PlanEntry,
    Prefix, Rewound, SlashCommand, Snapshot, SwarmEvent, Text, ToolCallId, ToolCallRequest, ToolCallUpdate,
    TurnId, Usage,
};

/// Something that happened in a session.
#[derive(Debug, Clone, PartialEq)]
pub enum SessionEvent {
    /// A prompt's turn began.
    TurnStarted {
        /// The turn.
        turn: TurnId,
    },
    /// The user (or whoever drives the session) said something. Durable before anything is done about it.
    UserMessage {
        /// The message.
        id: MessageId,
        /// What it says.
        content: Vec<Content>,
    },
    /// More of the assistant's text. Live only: the whole text is in [`SessionEvent::ModelResponse`].
    MessageDelta {
        /// The message it belongs to.
        id: MessageId,
        /// What follows.
        text: String,
    },
    /// More of the model's reasoning. Live only.
    ThoughtDelta {
        /// The thought it belongs to.
        id: MessageId,
        /// What follows.
        text: String,
    },
    /// A whole answer of the model: reasoning, text and the calls it asks for. Durable before a call runs.
    ModelResponse(ModelResponse),
    /// A tool call as it now is: created, started, changed, ended. Only the fields that are set change.
    ToolCall(ToolCallUpdate),
    /// A permission is being asked for.
    PermissionRequested {
        /// The call it is for.
        id: ToolCallId,
        /// The question, in words.
        question: String,
    },
    /// A permission was given or refused.
    PermissionResolved {
        /// The call it was for.
        id: ToolCallId,
        /// The answer.
        outcome: crate::PermissionOutcome,
        /// The rule, or the answer's source, that decided: `user`, `SessionGrant`, ….
        rule: String,
    },
    /// The plan as it now is; replaces the one before.
    Plan(Vec<PlanEntry>),
    /// Tokens used, after each answer of the model.
    Usage(UsageUpdate),
    /// The agent mode changed.
    ModeChanged(Mode),
    /// The permission mode changed.
    PermissionModeChanged(PermissionMode),
    /// The model changed; its full id.
    ModelChanged(String),
    /// How much the model is to think changed; `None` leaves it to the model.
    EffortChanged(Option<Effort>),
    /// The session's title changed.
    TitleChanged(String),
    /// Something the user should know that is no part of the conversation. Live only.
    Notice {
        /// How much it matters.
        severity: Severity,
        /// One line.
        title: String,
        /// The rest, if any.
        description: Option<String>,
    },
    /// What the turn is busy with. Live only.
    Phase(Phase),
    /// The slash commands have become others: all there are now. Live only.
    Commands(Vec<SlashCommand>),
    /// Something changed among the subagents. Live only.
    Swarm(SwarmEvent),
    /// A tool changed a file. Durable together with the end of its call.
    FileChanged(FileChange),
    /// The user took changes of files back.
    Rewound(Rewound),
    /// The conversation is being summed up, or was.
    Compaction(Compaction),
    /// Results of calls are no longer sent to models.
    ResultsLeftOut(ResultsLeftOut),
    /// What requests to a model begin with from now on, in this session.
    Prefix(Prefix),
    /// The model is told something by Tiller itself.
    Briefing(Briefing),
    /// The turn ended.
    TurnEnded {
        /// The turn.
        turn: TurnId,
        /// How.
        end: TurnEnd,
    },
}

impl SessionEvent {
    /// Whether the store keeps it.
    pub fn is_durable(&self) -> bool {
        match self {
            Self::MessageDelta { .. }
            | Self::ThoughtDelta { .. }
            | Self::Notice { .. }
            | Self::Phase(_)
            | Self::Commands(_)
            | Self::Swarm(_) => false,
            // Progress of a running call is for those who watch; its creation, start and end are kept.
            Self::ToolCall(update) => update.status.is_some(),
            Self::Compaction(compaction) => compaction.step.is_final(),
            _ => true,
        }
    }

    /// The contents of files that it brings along for the store, or that it names.
    pub fn snapshots_mut(&mut self) -> impl Iterator<Item = &mut Snapshot> {
        let changes = match self {
            Self::FileChanged(change) => std::slice::from_mut(change),
            Self::Rewound(Rewound { files, .. }) => files.as_mut_slice(),
            _ => &mut [],
        };
        changes.iter_mut().flat_map(FileChange::snapshots_mut)
    }
}

/// A whole answer of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelResponse {
    /// The message's id, the one its deltas carried.
    pub id: MessageId,
    /// The id that the reasoning's deltas carried.
    pub thought_id: MessageId,
    /// The model that answered.
    pub model: String,
    /// What it is made of, in the order in which the model gave it.
    pub items: Vec<Item<ToolCallRequest>>,
}

impl ModelResponse {
    /// An answer that is one text.
    pub fn said(
        id: MessageId,
        thought_id: MessageId,
        model: impl Into<String>,
        text: impl Into<String>,
    ) -> Self {
        Self { id, thought_id, model: model.into(), items: vec![Item::Text(Text::plain(text))] }
    }

    /// Its text, as a person reads it; may be empty.
    pub fn text(&self) -> String {
        item::text_of(&self.items)
    }

    /// Its reasoning, as a person reads it; may be empty.
    pub fn thoughts(&self) -> String {
        item::thoughts_of(&self.items)
    }

    /// The tool calls it asks for, in order.
    pub fn calls(&self) -> impl DoubleEndedIterator<Item = &ToolCallRequest> {
        item::calls_of(&self.items)
    }

    /// Whether it asks for tool calls.
    pub fn has_calls(&self) -> bool {
        self.calls().next().is_some()
    }
}

/// Results of calls that are no longer sent to models, to make room. The log keeps them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultsLeftOut {
    /// The calls. A call that is not among the messages that are sent is passed over.
    pub calls: Vec<ToolCallId>,
    /// What models read in place of each result.
    pub instead: String,
}

/// Tokens and money, for the session so far.
#[derive(Debug, Clone, PartialEq)]
pub struct UsageUpdate {
    /// The model.
    pub model: String,
    /// Tokens now in the model's context.
    pub context_used: u64,
    /// The context's size in tokens.
    pub context_size: u64,
    /// All tokens of the session so far.
    pub total: Usage,
    /// Of those, the running turn's. Not stored: nothing where the event comes from the store.
    pub turn: Usage,
    /// Tokens of the request that the last answer was to, as the provider counted them; `None`
    /// where it counted none, or the event follows no answer.
    pub counted: Option<u64>,
}

/// How much a notice matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the protocol's own words")]
pub enum Severity {
    Info,
    Warning,
    Error,
}

/// What a turn is busy with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Waiting for the model, or reading its answer.
    Thinking,
    /// Running tools.
    Tools,
    /// Nothing.
    Idle,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnEnd {
    /// In order.
    Stopped(StopReason),
    /// With an error; the message the client got.
    Failed(String),
}

/// Why a turn stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// The model had no more to say.
    EndTurn,
    /// The model's output limit was reached.
    MaxTokens,
    /// The limit of model requests in one turn was reached.
    MaxTurnRequests,
    /// The model refused.
    Refusal,
    /// The client cancelled.
    Cancelled,
}

impl StopReason {
    /// Its word for programs.
    pub fn id(self) -> &'static str {
        match self {
            Self::EndTurn => "end_turn",
            Self::MaxTokens => "max_tokens",
            Self::MaxTurnRequests => "max_turn_requests",
            Self::Refusal => "refusal",
            Self::Cancelled => "cancelled",
        }
    }
}
