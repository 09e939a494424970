//! Reads a session's stored events page by page.

use crate::{
    SessionEvent, SessionId, SessionStore, StoreError, client::display::Cleaner, limits::EVENTS_PAGE,
};
use std::{panic::resume_unwind, sync::Arc};
use tokio::task::JoinHandle;

/// A reader that prefetches the next page while the current one is used: at most two pages are in
/// memory.
pub struct EventPages {
    store: Arc<dyn SessionStore>,
    session: SessionId,
    /// The number of the last event to return.
    until: u64,
    form: EventForm,
    /// The task that reads the next page.
    reading: Option<JoinHandle<Result<Page, StoreError>>>,
}

/// The form in which stored events are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventForm {
    /// Sanitised for display.
    Shown,
    /// As data: what the model and the user wrote is complete.
    Written,
}

struct Page {
    events: Vec<(u64, SessionEvent)>,
    /// The number of the last event in the page; `None` at the end.
    last: Option<u64>,
}

impl EventPages {
    /// Creates a reader of the events after number `after`, up to number `until`.
    pub(crate) fn new(
        store: Arc<dyn SessionStore>,
        session: SessionId,
        after: u64,
        until: u64,
        form: EventForm,
    ) -> Self {
        let mut pages = Self { store, session, until, form, reading: None };
        pages.read_after(after);
        pages
    }

    /// Returns the next events in order; empty at the end and after an error.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be read.
    pub async fn next(&mut self) -> Result<Vec<SessionEvent>, StoreError> {
        Ok(self.next_numbered().await?.into_iter().map(|(_, event)| event).collect())
    }

    /// Returns the next events, each with its number.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be read.
    pub async fn next_numbered(&mut self) -> Result<Vec<(u64, SessionEvent)>, StoreError> {
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
        let (store, session, form) = (self.store.clone(), self.session.clone(), self.form);
        self.reading = Some(tokio::spawn(async move {
            let stored = store.events(&session, after, EVENTS_PAGE).await?;
            let last = stored.last().map(|(number, _)| *number);
            let cleaner = Cleaner::default();
            let wanted = stored.into_iter().filter(|(number, _)| *number <= until);
            let formed = |event: SessionEvent| match form {
                EventForm::Shown => cleaner.event(event),
                EventForm::Written => {
                    let shown = cleaner.event(event.clone());
                    cleaner.written(&event, &shown).unwrap_or(shown)
                }
            };
            Ok(Page { events: wanted.map(|(number, event)| (number, formed(event))).collect(), last })
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
