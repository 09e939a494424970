//! A turn that goes on in another process after its own has died: what the model is sent first.

use crate::{Briefing, SessionEvent, history::conversation::INTERRUPTED};

/// The beginning of the message.
const BEGINNING: &str =
    "The process that ran this turn ended in the middle of it, and another process goes on with the turn.";

/// Returns the message to the model. `missing` are the events that end what the dead process left
/// open: the calls that it interrupted are named.
pub(crate) fn briefing(missing: &[SessionEvent]) -> Briefing {
    let interrupted = missing.iter().filter_map(|event| match event {
        SessionEvent::ToolCall(update) if update.result.as_ref()?.text == INTERRUPTED => {
            Some(format!("{} ({})", update.name, update.id.as_str()))
        }
        _ => None,
    });
    let calls: Vec<_> = interrupted.collect();
    let calls = match calls.is_empty() {
        true => "No call was interrupted.".to_owned(),
        false => format!(
            "These calls were interrupted and are not run again by themselves: {}. Find out what they did before you repeat one.",
            calls.join(", ")
        ),
    };
    Briefing { text: format!("{BEGINNING} {calls}"), ..Briefing::default() }
}

/// Whether an event is that message.
pub(crate) fn is_briefing(event: &SessionEvent) -> bool {
    matches!(event, SessionEvent::Briefing(briefing) if briefing.text.starts_with(BEGINNING))
}
