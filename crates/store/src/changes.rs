//! What is stored of events beside their rows.

use crate::{limits::EVENT_BYTES, stored};
use agent::{
    ContentHash, Effort, Mode, PermissionMode, SessionEvent, SessionTotals, StoreError, searched_text,
};
use std::sync::Arc;

/// The changes that events make to the session's row; the last of each kind counts.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Changes {
    pub(crate) model: Option<String>,
    pub(crate) mode: Option<Mode>,
    pub(crate) permission_mode: Option<PermissionMode>,
    pub(crate) title: Option<String>,
    pub(crate) effort: Option<Option<Effort>>,
    /// What these events add; the cost replaces the one before.
    pub(crate) totals: SessionTotals,
}

impl Changes {
    /// Collects the changes that these events make.
    pub(crate) fn of(events: &[SessionEvent]) -> Self {
        let mut changes = Self::default();
        for event in events {
            changes.totals.add(event);
            match event {
                SessionEvent::ModelChanged(model) => changes.model = Some(model.clone()),
                SessionEvent::ModeChanged(mode) => changes.mode = Some(*mode),
                SessionEvent::PermissionModeChanged(mode) => changes.permission_mode = Some(*mode),
                SessionEvent::TitleChanged(title) => changes.title = Some(title.clone()),
                SessionEvent::EffortChanged(effort) => changes.effort = Some(*effort),
                _ => {}
            }
        }
        changes
    }
}

/// Events in the form in which they are stored.
pub(crate) struct Prepared {
    pub(crate) rows: Vec<stored::Row>,
    /// The searchable text of each row, if it has any.
    pub(crate) texts: Vec<Option<String>>,
    /// The contents of files that the events carry.
    pub(crate) contents: Vec<(ContentHash, Arc<[u8]>)>,
    pub(crate) changes: Changes,
}

impl Prepared {
    /// Prepares events to be appended. Callers must pass only
    /// [durable](SessionEvent::is_durable) ones: a debug build panics on others, a release build
    /// skips them.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] if one is too long to be stored.
    pub(crate) fn of(events: Vec<SessionEvent>) -> Result<Self, StoreError> {
        let changes = Changes::of(&events);
        let mut rows = Vec::with_capacity(events.len());
        let (mut texts, mut contents) = (Vec::with_capacity(events.len()), Vec::new());
        for mut event in events {
            contents.extend(event.snapshots_mut().filter_map(|snapshot| {
                let bytes = snapshot.bytes.take()?;
                Some((snapshot.hash.clone(), bytes))
            }));
            debug_assert!(event.is_durable(), "not to be stored: {event:?}");
            let text = searched_text(&event);
            if let Some(row) = event.is_durable().then(|| stored::encode(event)).flatten() {
                check_length(&row)?;
                rows.push(row);
                texts.push(text);
            }
        }
        Ok(Self { rows, texts, contents, changes })
    }
}

/// Rejects an event that is too long to be stored.
fn check_length(row: &stored::Row) -> Result<(), StoreError> {
    let mib = |bytes: usize| bytes.div_ceil(1024 * 1024);
    match row.body.len() {
        ..=EVENT_BYTES => Ok(()),
        bytes => Err(StoreError::Io(format!(
            "one event ({}) is {} MiB long, and the limit is {} MiB; nothing of it was stored: send a shorter message, or put the \
             content into a file",
            row.kind,
            mib(bytes),
            mib(EVENT_BYTES)
        ))),
    }
}
