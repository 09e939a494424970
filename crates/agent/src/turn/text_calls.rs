//! Calls that a model wrote into its answer's text become calls of the answer.

use super::gathered::Gathered;
use crate::{
    CallsAsText, Effect, ModelCall, ModelInfo, ToolCallRequest,
    repair::{
        self, Known,
        text::{Hold, Taken, TextCall, TextCalls, find},
    },
    session::Session,
};

/// The text of an answer on its way to the client, and what of it may be a call.
pub(super) struct Watch {
    taken: Option<Taken>,
    hold: Hold,
}

impl Watch {
    /// Watches an answer of a model. What only stands in for one writes no calls into its text.
    pub(super) fn new(info: &ModelInfo, setting: CallsAsText) -> Self {
        let taken = match setting {
            _ if info.disclosure.is_some() => None,
            CallsAsText::Off => None,
            CallsAsText::On => Some(Taken::Any),
            CallsAsText::Auto if info.native_calls => Some(Taken::Marked),
            CallsAsText::Auto => Some(Taken::Any),
        };
        Self { taken, hold: Hold::new(taken) }
    }

    /// Takes more of what a person is to read; what can be shown of it now.
    pub(super) fn push(&mut self, text: &str) -> String {
        self.hold.push(text)
    }

    /// The answer has ended without a call: makes calls of those in its text, or else in its reasoning. What is still to be
    /// shown.
    pub(super) fn settle(&self, session: &Session, offered: &[&str], gathered: &mut Gathered) -> String {
        let Some(taken) = self.taken else { return self.rest(usize::MAX) };
        let known = Known { tools: session.toolbox().all(), offered };
        let fits = |call: &TextCall| fits(known, call);
        let whole = gathered.shown_text();
        let found = gathered.last_text().and_then(|text| Some((text.len(), find(text, taken, &fits)?)));
        if let Some((length, TextCalls { begin, calls })) = found {
            // What was shown already stays text.
            let before = whole.len() - length;
            let end = (before + begin).max(self.hold.released());
            gathered.cut_last_text(end - before);
            add(session, gathered, calls);
            return self.rest(end);
        }
        if whole.trim().is_empty()
            && let Some(thought) = gathered.last_thought()
            && let Some(TextCalls { calls, .. }) = find(&thought, Taken::Marked, &fits)
        {
            add(session, gathered, calls);
        }
        self.rest(usize::MAX)
    }

    /// What is still held back, up to a place in the whole text.
    pub(super) fn rest(&self, end: usize) -> String {
        self.hold.rest(end).to_owned()
    }
}

fn add(session: &Session, gathered: &mut Gathered, calls: Vec<TextCall>) {
    for TextCall { name, arguments, .. } in calls {
        let id = session.conversation().next_call(gathered.calls());
        let call = ModelCall { provider_id: id.to_string(), name, arguments, opaque: None };
        gathered.call(ToolCallRequest::new(id, call));
    }
}

/// Whether a call is one of a tool that there is, with arguments that it takes. One that has no end is one of a read alone.
fn fits(known: Known<'_>, call: &TextCall) -> bool {
    let arguments = crate::read_arguments(&call.arguments);
    let Ok(reading) = repair::read(known, &call.name, &arguments, None) else { return false };
    let parses = reading.arguments.iter().all(|arguments| reading.tool.parse(arguments.clone()).is_ok());
    parses && (call.whole || reading.tool.effect() == Effect::Reads)
}
