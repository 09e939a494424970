//! Live, stored and joined sessions have the same cells.

use super::generated::{events, session};
use crate::transcript::{Body, Transcript};
use agent::SessionEvent;
use proptest::prelude::*;

/// Returns what the cells show, without notices, which are not stored.
fn bodies<'a>(events: impl IntoIterator<Item = &'a SessionEvent>) -> Vec<Body> {
    let mut transcript = Transcript::default();
    events.into_iter().for_each(|event| transcript.apply(event));
    let bodies = transcript.cells().iter().map(|cell| cell.body.clone());
    bodies.filter(|body| !matches!(body, Body::Notice { .. })).collect()
}

proptest! {
    #[test]
    fn a_live_and_a_stored_session_have_the_same_cells(steps in session()) {
        let live = events(&steps);
        let stored: Vec<_> = live.iter().filter(|event| event.is_durable()).collect();
        prop_assert_eq!(bodies(&live), bodies(stored));
    }

    #[test]
    fn a_session_that_is_joined_has_the_same_cells(steps in session(), at in 0_usize..200) {
        let live = events(&steps);
        let at = at.min(live.len());
        let (before, after) = live.split_at(at);
        // The live state: the answer that is being streamed, each run of text or reasoning joined.
        let last = before.iter().rposition(|event| matches!(event, SessionEvent::ModelResponse(_)));
        let mut texts: Vec<SessionEvent> = Vec::new();
        for event in &before[last.map_or(0, |last| last + 1)..] {
            let (SessionEvent::MessageDelta { id, text } | SessionEvent::ThoughtDelta { id, text }) = event else {
                continue;
            };
            match texts.last_mut() {
                Some(
                    SessionEvent::MessageDelta { id: last, text: so_far }
                    | SessionEvent::ThoughtDelta { id: last, text: so_far },
                ) if last == id => so_far.push_str(text),
                _ => texts.push(event.clone()),
            }
        }
        let stored = before.iter().filter(|event| event.is_durable());
        prop_assert_eq!(bodies(&live), bodies(stored.chain(&texts).chain(after)));
    }
}

#[test]
fn an_answer_without_its_stream_is_shown_too() {
    let cells = bodies(&[super::answer("m", "all at once")]);
    assert!(matches!(&cells[..], [Body::Answer(said)] if said.text == "all at once" && said.is_done));
}
