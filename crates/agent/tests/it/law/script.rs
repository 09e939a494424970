//! What may happen to a session: scripts that are made up at random, and made smaller once one
//! fails.

use agent::{Effort, Mode, PermissionOutcome, RewindTarget};
use proptest::{collection::vec, prelude::*, sample::select};

/// A session's whole life.
#[derive(Debug, Clone)]
pub(super) struct Script {
    pub(super) acts: Vec<Act>,
    /// How permissions are answered, over and over.
    pub(super) outcomes: Vec<PermissionOutcome>,
    /// Whether it is summed up by itself.
    pub(super) auto_compact: bool,
}

/// Something that is done to a session, up to its end.
#[derive(Debug, Clone)]
pub(super) enum Act {
    Prompt(Course),
    /// A slash command.
    Command(&'static str, Vec<Summary>),
    Mode(Mode),
    Effort(Option<Effort>),
    Title,
    /// Another model, or the first one again.
    Model(bool),
    Rewind(RewindTarget),
    /// The process ends in order, and another one opens the session.
    Restart,
    /// The session goes on as a copy of it.
    Fork,
    /// Of the appends of a prompt's turn so many pass. Then the process is gone, and another one
    /// opens the session.
    Crash(usize, Course),
    /// One append of a prompt's turn is not acknowledged: its number, and whether it was stored.
    /// The process goes on.
    Trip(usize, bool, Course),
}

/// A prompt, and what the model does about it.
#[derive(Debug, Clone)]
pub(super) struct Course {
    /// How long it is, in tokens.
    pub(super) tokens: usize,
    pub(super) steps: Vec<Step>,
    pub(super) summaries: Vec<Summary>,
}

/// An answer, and what somebody does when it is asked for.
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
    /// A text of so many tokens; whether the provider counts them.
    Says(usize, bool),
    /// Calls, and whether the provider counts.
    Calls(Vec<Call>, bool),
    /// Reasoning, and a text that the output limit cuts off.
    CutOff,
    /// Nothing at all.
    Nothing,
    /// Trying again, and then a text.
    Retries,
    /// Text and a call, and then the connection breaks.
    Breaks,
    /// The conversation is too long.
    Overflows,
    /// Some text, and then the user cancels.
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
    Unknown,
    Malformed,
}

/// What becomes of a summary.
#[derive(Debug, Clone, Copy)]
pub(super) enum Summary {
    Whole,
    Empty,
    Breaks,
    Cancelled,
}

const COMMANDS: [&str; 12] = [
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
    let call = select(vec![
        Call::Read,
        Call::ReadLong,
        Call::ReadLong,
        Call::ReadMissing,
        Call::Write,
        Call::Command,
        Call::Sample,
        Call::Unknown,
        Call::Malformed,
    ]);
    let answer = prop_oneof![
        4 => (tokens, any::<bool>()).prop_map(|(tokens, counted)| Answer::Says(tokens, counted)),
        8 => (vec(call, 1..4), any::<bool>()).prop_map(|(calls, counted)| Answer::Calls(calls, counted)),
        1 => Just(Answer::CutOff),
        1 => Just(Answer::Nothing),
        1 => Just(Answer::Retries),
        1 => Just(Answer::Breaks),
        1 => Just(Answer::Overflows),
        1 => Just(Answer::Cancelled),
    ];
    (prop_oneof![3 => Just(None), 1 => meanwhile.prop_map(Some)], answer)
        .prop_map(|(meanwhile, answer)| Step { meanwhile, answer })
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
        1 => target.prop_map(Act::Rewind),
        1 => Just(Act::Restart),
        1 => Just(Act::Fork),
        2 => (0..10_usize, course()).prop_map(|(appends, course)| Act::Crash(appends, course)),
        2 => (0..10_usize, any::<bool>(), course())
            .prop_map(|(append, stored, course)| Act::Trip(append, stored, course)),
    ]
}

/// Any life of a session.
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
