//! The transcript on a screen of its own: a row with the search and the keys, and the cells below.

use crate::{
    field::Field,
    input::Key,
    keys::Action,
    look::Look,
    shown::{Shown, field_row},
    text::{cut::cut, row::Row},
    theme::Role,
    transcript::{rows::Paint, view::View},
};
use ratatui_core::text::Line;

/// How a transcript is read: that of the session, or of a subagent.
#[derive(Default)]
pub(super) struct Reading {
    view: View,
    /// The query that is being typed.
    query: Option<Field>,
}

/// What an action on the transcript leads to.
pub(super) enum Read {
    /// Nothing but another view.
    Shown,
    /// The transcript is closed.
    Closed,
    /// A text is to be copied.
    Copied(String),
}

impl Reading {
    /// Whether a query is being typed, so that keys belong to it.
    pub(super) fn is_typing(&self) -> bool {
        self.query.is_some()
    }

    /// Returns the rows of a screen of this height.
    pub(super) fn rows(&mut self, paint: &Paint<'_>, height: usize) -> Shown {
        let mut head = self.head(paint);
        head.rows.extend(self.view.rows(height.saturating_sub(1), paint));
        head.rows.resize(height, Row::empty());
        head
    }

    fn head(&self, paint: &Paint<'_>) -> Shown {
        let look = paint.look;
        let state = match (self.view.hits(), self.view.unseen(paint)) {
            (Some((at, all)), _) => format!("{at} of {all} · n N"),
            (None, 0) => String::new(),
            (None, unseen) => format!("↓ {unseen} new · G"),
        };
        let keys = "/ search · enter fold · ] [ prompts · y copy · q back";
        if let Some(field) = &self.query {
            return field_row("transcript  /", field, &state, look);
        }
        let query = self.view.query().map(|query| format!("/{query}  ")).unwrap_or_default();
        Shown { rows: vec![titled(look, &query, &state, keys)], cursor: None }
    }

    /// Takes a key that is typed into the query; Enter and Escape end it.
    pub(super) fn key(&mut self, paint: &Paint<'_>, key: Key) {
        let Some(field) = &mut self.query else { return };
        if field.key(key) {
            let text = field.text().to_owned();
            self.view.search(&text, paint);
        }
    }

    /// Ends the typing of a query; without `keep` the search ends too.
    pub(super) fn end_typing(&mut self, paint: &Paint<'_>, keep: bool) {
        self.query = None;
        if !keep {
            self.view.search("", paint);
        }
    }

    /// Scrolls by rows; negative is up.
    pub(super) fn scroll(&mut self, paint: &Paint<'_>, rows: isize) {
        self.view.scroll(rows, paint);
    }

    /// Performs an action of the transcript.
    pub(super) fn act(&mut self, paint: &Paint<'_>, action: Action) -> Read {
        let view = &mut self.view;
        match action {
            Action::ScrollDown => view.move_by(1, paint),
            Action::ScrollUp => view.move_by(-1, paint),
            Action::PageDown => view.page(1, paint),
            Action::PageUp => view.page(-1, paint),
            Action::GoFirst => view.to_start(paint),
            Action::GoLast => view.to_end(paint),
            Action::Find => self.query = Some(Field::default()),
            Action::FindNext => {
                view.next_hit(1, paint);
            }
            Action::FindPrevious => {
                view.next_hit(-1, paint);
            }
            Action::NextPrompt => {
                view.to_prompt(1, paint);
            }
            Action::PreviousPrompt => {
                view.to_prompt(-1, paint);
            }
            Action::Fold => view.toggle_fold(paint),
            Action::Mark => view.toggle_mark(paint),
            Action::Copy => {
                if let Some(text) = view.copy(paint) {
                    return Read::Copied(text);
                }
            }
            Action::CopyCode => {
                if let Some(text) = view.copy_code(paint) {
                    return Read::Copied(text);
                }
            }
            Action::TranscriptClose if view.query().is_some() => {
                view.search("", paint);
            }
            Action::TranscriptClose => return Read::Closed,
            _ => {}
        }
        Read::Shown
    }
}

/// Returns the first row: the name, the search with its state, and the keys as far as they fit.
fn titled(look: &Look, query: &str, state: &str, keys: &str) -> Row {
    let spans = vec![
        look.span(Role::Strong, "transcript  "),
        look.span(Role::Text, query),
        look.span(Role::Warning, state),
        look.span(Role::Dim, if state.is_empty() { "" } else { " · " }),
        look.span(Role::Dim, keys),
    ];
    Row::new(Line::from(cut(spans, look.width, look.measure)))
}
