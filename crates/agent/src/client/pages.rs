//! A session's stored events as they are shown, a page at a time.

use crate::{
    SessionEvent, SessionId, SessionStore, StoreError, client::display::Cleaner, limits::EVENTS_PAGE,
};
use std::{panic::resume_unwind, sync::Arc};
use tokio::task::JoinHandle;

/// Reads the next page while the current one is used: no more than two are in memory.
pub struct EventPages {
    store: Arc<dyn SessionStore>,
    session: SessionId,
    /// The number of the last event that is wanted.
    until: u64,
    /// Reads the next page.
    reading: Option<JoinHandle<Result<Page, StoreError>>>,
}

struct Page {
    events: Vec<(u64, SessionEvent)>,
    /// The number of the last event in it; `None` at the end.
    last: Option<u64>,
}

impl EventPages {
    pub(crate) fn new(store: Arc<dyn SessionStore>, session: SessionId, until: u64) -> Self {
        let mut pages = Self { store, session, until, reading: None };
        pages.read_after(0);
        pages
    }

    /// The next events in order, cleaned for display; none at the end. After an error there are no
    /// more.
    pub async fn next(&mut self) -> Result<Vec<SessionEvent>, StoreError> {
        Ok(self.next_numbered().await?.into_iter().map(|(_, event)| event).collect())
    }

    /// The same, each with its number.
    pub(crate) async fn next_numbered(&mut self) -> Result<Vec<(u64, SessionEvent)>, StoreError> {
        let Some(reading) = self.reading.take() else { return Ok(Vec::new()) };
        let page = reading.await.unwrap_or_else(|error| resume_unwind(error.into_panic()))?;
        if let Some(last) = page.last {
            self.read_after(last);
        }
        Ok(page.events)
    }

    fn read_after(&mut self, after: u64) {
        let until = self.until;
        if after >= until {
            return;
        }
        let (store, session) = (self.store.clone(), self.session.clone());
        self.reading = Some(tokio::spawn(async move {
            let stored = store.events(&session, after, EVENTS_PAGE).await?;
            let last = stored.last().map(|(number, _)| *number);
            let cleaner = Cleaner::default();
            let wanted = stored.into_iter().filter(|(number, _)| *number <= until);
            Ok(Page { events: wanted.map(|(number, event)| (number, cleaner.event(event))).collect(), last })
        }));
    }
}

impl Drop for EventPages {
    fn drop(&mut self) {
        if let Some(reading) = &self.reading {
            reading.abort();
        }
    }
}
