//! What may happen to a session between two requests.

use agent::Mode;
use proptest::{collection::vec, prelude::*, sample::select};

/// Something that is done to a session.
#[derive(Debug, Clone)]
pub(super) enum Act {
    /// A prompt, and what the model answers to it, one request after the other.
    Prompt(Vec<Answer>),
    Mode(Mode),
    /// It is another day.
    Day(&'static str),
    /// What a server has from now on.
    Tools(Vec<&'static str>),
    /// What the project says to agents from now on.
    Instructions(&'static str),
    /// The other model, or the first one again.
    Model(bool),
    /// What may be worked in beside the session's folder.
    Further(bool),
    Compact,
    /// The process ends, and another one opens the session.
    Restart,
    /// A new session in another folder.
    Folder(String),
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Answer {
    Says,
    Reads,
    /// Calls with arguments that are no JSON, of a tool that nobody has, and through `call_tool`.
    Misspelt,
    /// Two calls of the server's tools.
    Calls,
    /// Half an answer, and then the user cancels.
    Cancelled,
    /// Half an answer, and then the connection breaks.
    Breaks,
    /// The conversation is too long, says the provider.
    Overflows,
    /// Says something, and the mode changes meanwhile.
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

/// Any life of a session.
pub(super) fn scripts() -> impl Strategy<Value = Vec<Act>> {
    vec(act(), 2..14)
}
