//! Random scripts of what happens to a session between two requests.

use agent::Mode;
use proptest::{collection::vec, prelude::*, sample::select};

/// An action on a session.
#[derive(Debug, Clone)]
pub(super) enum Act {
    /// A prompt and the model's answers to it, one per request.
    Prompt(Vec<Answer>),
    Mode(Mode),
    /// The date changes.
    Day(&'static str),
    /// The tools of a server from now on.
    Tools(Vec<&'static str>),
    /// The project's instructions for agents from now on.
    Instructions(&'static str),
    /// Switches to the other model, or back to the first.
    Model(bool),
    /// Whether an additional directory is set.
    Further(bool),
    Compact,
    /// The process ends, and another one opens the session.
    Restart,
    /// Creates a new session in another directory.
    Folder(String),
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Answer {
    Says,
    Reads,
    /// Calls with arguments that are not JSON, of an unknown tool, and through `call_tool`.
    Misspelt,
    /// Two calls of the server's tools.
    Calls,
    /// Half an answer, then the user cancels.
    Cancelled,
    /// Half an answer, then the connection breaks.
    Breaks,
    /// The provider rejects the conversation as too long.
    Overflows,
    /// A text, while the mode changes.
    Switches(Mode),
}

fn mode() -> impl Strategy<Value = Mode> {
    select(vec![Mode::Edit, Mode::Plan, Mode::Ask])
}

fn answer() -> impl Strategy<Value = Answer> {
    prop_oneof![
        2 => Just(Answer::Says),
        4 => Just(Answer::Reads),
        2 => Just(Answer::Misspelt),
        3 => Just(Answer::Calls),
        1 => Just(Answer::Cancelled),
        1 => Just(Answer::Breaks),
        1 => Just(Answer::Overflows),
        2 => mode().prop_map(Answer::Switches),
    ]
}

fn act() -> impl Strategy<Value = Act> {
    let tools = vec![
        vec![],
        vec!["mcp__s__one"],
        vec!["mcp__s__one", "mcp__s__two"],
        vec!["mcp__s__two", "mcp__s__three"],
    ];
    prop_oneof![
        10 => vec(answer(), 1..5).prop_map(Act::Prompt),
        2 => mode().prop_map(Act::Mode),
        1 => select(vec!["2026-11-23", "2026-11-24"]).prop_map(Act::Day),
        3 => select(tools).prop_map(Act::Tools),
        1 => select(vec!["", "Use tabs.", "Use spaces."]).prop_map(Act::Instructions),
        1 => any::<bool>().prop_map(Act::Model),
        1 => any::<bool>().prop_map(Act::Further),
        1 => Just(Act::Compact),
        2 => Just(Act::Restart),
    ]
}

/// Generates random sequences of actions.
pub(super) fn scripts() -> impl Strategy<Value = Vec<Act>> {
    vec(act(), 2..14)
}
