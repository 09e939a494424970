//! Random scripts of what can happen to a session; proptest shrinks a script that fails.

use agent::{Effort, Mode, PermissionOutcome, RewindTarget};
use proptest::{collection::vec, prelude::*, sample::select};

/// The whole life of a session.
#[derive(Debug, Clone)]
pub(super) struct Script {
    pub(super) acts: Vec<Act>,
    /// The answers to permission requests, in a cycle.
    pub(super) outcomes: Vec<PermissionOutcome>,
    /// Whether compaction is automatic.
    pub(super) auto_compact: bool,
}

/// An action on a session, awaited to its end.
#[derive(Debug, Clone)]
pub(super) enum Act {
    Prompt(Course),
    /// A slash command.
    Command(&'static str, Vec<Summary>),
    Mode(Mode),
    Effort(Option<Effort>),
    Title,
    /// Switches to the other model, or back to the first.
    Model(bool),
    Rewind(RewindTarget),
    /// The process ends cleanly, and another one opens the session.
    Restart,
    /// The session continues in a fork of it.
    Fork,
    /// This many appends of a prompt's turn succeed. Then the process crashes, and another one
    /// opens the session.
    Crash(usize, Course),
    /// One append of a prompt's turn is not acknowledged: its number, and whether it was stored.
    /// The process continues.
    Trip(usize, bool, Course),
}

/// A prompt and the model's steps in response.
#[derive(Debug, Clone)]
pub(super) struct Course {
    /// The length of the prompt in tokens.
    pub(super) tokens: usize,
    pub(super) steps: Vec<Step>,
    pub(super) summaries: Vec<Summary>,
}

/// An answer, and an action while the model is asked for it.
#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) meanwhile: Option<Meanwhile>,
    pub(super) answer: Answer,
}

#[derive(Debug, Clone)]
pub(super) enum Meanwhile {
    Steer(&'static str),
    Queue,
    Mode(Mode),
    Effort(Effort),
}

#[derive(Debug, Clone)]
pub(super) enum Answer {
    /// A text of this many tokens, and whether the provider counts tokens.
    Says(usize, bool),
    /// Calls, and whether the provider counts tokens.
    Calls(Vec<Call>, bool),
    /// Reasoning, and a text that the output limit truncates.
    CutOff,
    /// An empty answer.
    Nothing,
    /// A retry, then a text.
    Retries,
    /// A text that takes seconds.
    Slow,
    /// Text and a call, then the connection breaks.
    Breaks,
    /// The conversation is too long.
    Overflows,
    /// Some text, then the user cancels.
    Cancelled,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Call {
    Read,
    ReadLong,
    ReadMissing,
    Write,
    Command,
    Sample,
    Plan,
    EndGoal,
    Unknown,
    Malformed,
    /// A request for subagents, and whether they run in the background.
    Delegate(Errand, bool),
}

/// What a requested subagent does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Errand {
    Answers,
    Reads,
    /// Its model fails once, for a passing reason.
    Retries,
    Fails,
    /// The user cancels while it answers.
    Cancelled,
    /// Its model never answers.
    Silent,
    /// Another one waits for it.
    First,
    /// It requests one itself.
    Delegates,
    /// It goes on after it has ended.
    Resumed,
}

impl Errand {
    pub(super) const ALL: [Self; 9] = [
        Self::Answers,
        Self::Reads,
        Self::Retries,
        Self::Fails,
        Self::Cancelled,
        Self::Silent,
        Self::First,
        Self::Delegates,
        Self::Resumed,
    ];
}

/// The outcome of a summary request.
#[derive(Debug, Clone, Copy)]
pub(super) enum Summary {
    Whole,
    Empty,
    Breaks,
    Cancelled,
}

const COMMANDS: [&str; 17] = [
    "/tasks clear",
    "/goal go on --budget 9k",
    "/goal resume",
    "/goal pause",
    "/goal clear",
    "/compact",
    "/compact the names",
    "/compact",
    "/context",
    "/help",
    "/model",
    "/model fake/other",
    "/model fake/nobody",
    "/plan",
    "/edit",
    "/rewind 1",
    "/rewind redo",
];

fn course() -> impl Strategy<Value = Course> {
    let tokens = prop_oneof![4 => 1..200_usize, 2 => 1_000..3_000_usize, 1 => Just(9_000)];
    (tokens, vec(step(), 0..4), summaries()).prop_map(|(tokens, steps, summaries)| Course {
        tokens,
        steps,
        summaries,
    })
}

fn summaries() -> impl Strategy<Value = Vec<Summary>> {
    let summary = prop_oneof![
        3 => Just(Summary::Whole),
        1 => Just(Summary::Empty),
        2 => Just(Summary::Breaks),
        1 => Just(Summary::Cancelled),
    ];
    vec(summary, 0..3)
}

fn step() -> impl Strategy<Value = Step> {
    let meanwhile = prop_oneof![
        2 => select(vec!["steered", "/help", "/compact"]).prop_map(Meanwhile::Steer),
        1 => Just(Meanwhile::Queue),
        1 => mode().prop_map(Meanwhile::Mode),
        1 => Just(Meanwhile::Effort(Effort::High)),
    ];
    let tokens = prop_oneof![3 => 1..100_usize, 2 => 1_000..4_000_usize];
    let call = prop_oneof![11 => plain_call(), 4 => delegation()];
    let answer = prop_oneof![
        4 => (tokens, any::<bool>()).prop_map(|(tokens, counted)| Answer::Says(tokens, counted)),
        8 => (vec(call, 1..4), any::<bool>()).prop_map(|(calls, counted)| Answer::Calls(calls, counted)),
        1 => Just(Answer::CutOff),
        1 => Just(Answer::Nothing),
        1 => Just(Answer::Retries),
        2 => Just(Answer::Slow),
        1 => Just(Answer::Breaks),
        1 => Just(Answer::Overflows),
        1 => Just(Answer::Cancelled),
    ];
    (prop_oneof![3 => Just(None), 1 => meanwhile.prop_map(Some)], answer)
        .prop_map(|(meanwhile, answer)| Step { meanwhile, answer })
}

fn delegation() -> impl Strategy<Value = Call> {
    (select(Errand::ALL.to_vec()), any::<bool>())
        .prop_map(|(errand, background)| Call::Delegate(errand, background))
}

fn plain_call() -> impl Strategy<Value = Call> {
    select(vec![
        Call::Read,
        Call::ReadLong,
        Call::ReadLong,
        Call::ReadMissing,
        Call::Write,
        Call::Command,
        Call::Sample,
        Call::Plan,
        Call::EndGoal,
        Call::Unknown,
        Call::Malformed,
    ])
}

fn mode() -> impl Strategy<Value = Mode> {
    select(vec![Mode::Edit, Mode::Plan, Mode::Ask])
}

fn act() -> impl Strategy<Value = Act> {
    let target = select(vec![RewindTarget::Turn(0), RewindTarget::Turn(1), RewindTarget::Redo]);
    prop_oneof![
        12 => course().prop_map(Act::Prompt),
        6 => (select(COMMANDS.to_vec()), summaries()).prop_map(|(text, made)| Act::Command(text, made)),
        1 => mode().prop_map(Act::Mode),
        1 => select(vec![None, Some(Effort::Low)]).prop_map(Act::Effort),
        1 => Just(Act::Title),
        1 => any::<bool>().prop_map(Act::Model),
        2 => target.prop_map(Act::Rewind),
        1 => Just(Act::Restart),
        1 => Just(Act::Fork),
        2 => (0..10_usize, course()).prop_map(|(appends, course)| Act::Crash(appends, course)),
        2 => (0..10_usize, any::<bool>(), course())
            .prop_map(|(append, stored, course)| Act::Trip(append, stored, course)),
    ]
}

/// Generates random scripts.
pub(super) fn scripts() -> impl Strategy<Value = Script> {
    let outcome = select(vec![
        PermissionOutcome::AllowOnce,
        PermissionOutcome::AllowOnce,
        PermissionOutcome::RejectOnce,
        PermissionOutcome::RejectAlways,
        PermissionOutcome::Cancelled,
    ]);
    (vec(act(), 1..8), vec(outcome, 1..4), prop::bool::weighted(0.8))
        .prop_map(|(acts, outcomes, auto_compact)| Script { acts, outcomes, auto_compact })
}
