//! Turns tool calls that a model wrote as text into calls of the answer.

use super::answer_items::AnswerItems;
use crate::{
    CallsAsText, Effect, ModelCall, ModelInfo, ToolCallRequest,
    repair::{
        self, Known,
        text::{CallForms, Hold, TextCall, TextCalls, find},
    },
    session::Session,
};

/// Filters an answer's text on its way to the client and holds back the parts that may be a call.
pub(super) struct CallFilter {
    forms: Option<CallForms>,
    hold: Hold,
}

impl CallFilter {
    /// Creates the filter for an answer of a model. A stand-in for a language model writes no calls
    /// as text.
    pub(super) fn new(info: &ModelInfo, setting: CallsAsText) -> Self {
        let forms = match setting {
            _ if info.disclosure.is_some() => None,
            CallsAsText::Off => None,
            CallsAsText::On => Some(CallForms::Any),
            CallsAsText::Auto if info.dialect.native_calls => Some(CallForms::Marked),
            CallsAsText::Auto => Some(CallForms::Any),
        };
        Self { forms, hold: Hold::new(forms) }
    }

    /// Takes a piece of visible text; returns the part that can be shown now.
    pub(super) fn push(&mut self, text: &str) -> String {
        self.hold.push(text)
    }

    /// Ends an answer that has no native calls: converts calls found in its text, or else in its
    /// reasoning. Returns the text still to be shown.
    pub(super) fn settle(&self, session: &Session, offered: &[&str], items: &mut AnswerItems) -> String {
        let Some(forms) = self.forms else { return self.rest(usize::MAX) };
        let known = Known { tools: session.toolbox().all(), offered };
        let fits = |call: &TextCall| fits(known, call);
        let whole = items.shown_text();
        let found = items.last_text().and_then(|text| Some((text.len(), find(text, forms, &fits)?)));
        if let Some((length, TextCalls { begin, calls })) = found {
            // Text already shown stays text.
            let before = whole.len() - length;
            let end = (before + begin).max(self.hold.released());
            items.cut_last_text(end - before);
            add(session, items, calls);
            return self.rest(end);
        }
        if whole.trim().is_empty()
            && let Some(thought) = items.last_thought()
            && let Some(TextCalls { calls, .. }) = find(&thought, CallForms::Marked, &fits)
        {
            add(session, items, calls);
        }
        self.rest(usize::MAX)
    }

    /// Returns the text still held back, up to a byte offset in the whole text.
    pub(super) fn rest(&self, end: usize) -> String {
        self.hold.rest(end).to_owned()
    }
}

fn add(session: &Session, items: &mut AnswerItems, calls: Vec<TextCall>) {
    for TextCall { name, arguments, .. } in calls {
        let id = session.conversation().next_call(items.calls());
        let call = ModelCall { provider_id: id.to_string(), name, arguments, opaque: None };
        items.call(ToolCallRequest::new(id, call));
    }
}

/// Whether a call names an existing tool and has arguments that the tool accepts. A truncated call
/// is accepted only if its tool is read-only.
fn fits(known: Known<'_>, call: &TextCall) -> bool {
    let arguments = crate::read_arguments(&call.arguments);
    let Ok(reading) = repair::read(known, &call.name, &arguments, None) else { return false };
    let parses = reading.arguments.iter().all(|arguments| reading.tool.parse(arguments.clone()).is_ok());
    parses && (call.whole || reading.tool.effect() == Effect::Reads)
}
