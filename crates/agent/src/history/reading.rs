//! Reads a session's log: all of it before a turn, and only its end when the session is opened.

use crate::{
    SessionEvent, SessionId, SessionRecord, SessionStore, StopReason, StoreError, TurnEnd,
    history::{
        conversation::{self, Conversation},
        death,
    },
    limits::{EVENTS_PAGE, TAIL_EVENTS},
};

/// Reads a session's log to its end, page by page, and passes each event to `each`.
pub(crate) async fn read_log(
    store: &dyn SessionStore,
    id: &SessionId,
    each: impl Fn(&SessionEvent),
) -> Result<Conversation, StoreError> {
    let mut conversation = Conversation::default();
    let mut after = 0;
    loop {
        let page = store.events(id, after, EVENTS_PAGE).await?;
        let Some((last, _)) = page.last() else { return Ok(conversation) };
        after = *last;
        for (_, event) in &page {
            conversation.apply(event);
            each(event);
        }
    }
}

/// The end of a session's log.
pub(crate) struct LogEnd {
    /// The events that it lacks because the process ended in the middle of a turn.
    pub(crate) missing: Vec<SessionEvent>,
    /// How its last turn ended.
    pub(crate) last_turn: LastTurn,
}

/// How the last turn of a log ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LastTurn {
    /// It has ended, or there was none.
    Ended,
    /// It was suspended: the next owner goes on with it.
    Suspended,
    /// Its process died. The next owner goes on with it, or not.
    CutOff {
        /// Whether it goes on.
        goes_on: bool,
    },
}

/// Examines the end of a session's log. Reads only that. With `after_death`, a turn whose process
/// died goes on, unless it did so before: it may be the reason for the death.
pub(crate) async fn log_end(
    store: &dyn SessionStore,
    record: &SessionRecord,
    after_death: bool,
) -> Result<LogEnd, StoreError> {
    let mut back = TAIL_EVENTS;
    loop {
        let begin = record.last_seq.saturating_sub(back);
        let (mut after, mut tail, mut found) = (begin, Vec::new(), begin == 0);
        loop {
            let page = store.events(&record.id, after, EVENTS_PAGE).await?;
            let Some((last, _)) = page.last() else { break };
            after = *last;
            for (_, event) in page {
                if conversation::restarts_history(&event) {
                    tail.clear();
                    found = true;
                }
                tail.push(event);
            }
        }
        if found {
            let is_suspended = matches!(
                tail.first(),
                Some(SessionEvent::TurnEnded { end: TurnEnd::Stopped(StopReason::Suspended), .. })
            );
            let end = conversation::end_of(&tail);
            let goes_on = after_death && end.is_in_turn() && !tail.iter().any(death::is_briefing);
            let last_turn = match (end.is_in_turn(), is_suspended) {
                (true, _) => LastTurn::CutOff { goes_on },
                (false, true) => LastTurn::Suspended,
                (false, false) => LastTurn::Ended,
            };
            let missing = if goes_on { end.repairs_to_go_on() } else { end.repairs() };
            return Ok(LogEnd { missing, last_turn });
        }
        back = back.saturating_mul(4);
    }
}

/// Returns the number of the event before the last turn that began up to event number `until`; 0 if
/// none did. Reads only the events from there.
pub(crate) async fn before_turn(
    store: &dyn SessionStore,
    id: &SessionId,
    until: u64,
) -> Result<u64, StoreError> {
    let mut back = TAIL_EVENTS;
    loop {
        let begin = until.saturating_sub(back);
        let (mut after, mut found) = (begin, None);
        while after < until {
            let page = store.events(id, after, EVENTS_PAGE).await?;
            let Some((last, _)) = page.last() else { break };
            after = *last;
            let mut began = page.iter().filter(|(number, event)| {
                *number <= until && matches!(event, SessionEvent::TurnStarted { .. })
            });
            found = began.next_back().map(|(number, _)| number - 1).or(found);
        }
        if begin == 0 || found.is_some() {
            return Ok(found.unwrap_or_default());
        }
        back = back.saturating_mul(4);
    }
}
