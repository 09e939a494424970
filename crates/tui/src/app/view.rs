//! What is shown: the rows of the live region, or of the whole screen.

use super::{App, Overlay, status, work};
use crate::{
    keys::listing,
    limits::{COMPOSER_ROWS, PANEL_ROWS},
    look::Look,
    screens::frame::{Frame, Screen},
    shown::Shown,
    text::{row::Row, wrap::wrap},
    theme::Role,
    transcript::{Step, rows::Paint},
};
use ratatui_core::text::Line;
use work::Drawing;

/// The rows of a message that is shown with a list.
const LIST_MESSAGE_ROWS: usize = 3;

/// The smallest screen that gets more than a composer and a word.
const SMALLEST: (usize, u16) = (20, 6);

impl App {
    /// Returns what to draw now, and hands out the rows that are finished.
    pub fn frame(&mut self) -> Frame {
        let fits = self.options.look.width >= SMALLEST.0 && self.rows >= SMALLEST.1;
        // Plain lines need no room.
        if !fits && self.options.screen != Screen::Plain {
            return self.tiny();
        }
        let rows = usize::from(self.rows);
        match (&mut self.overlay, self.options.screen) {
            (Overlay::Transcript(reading), _) => {
                let look = &self.options.look;
                let transcript = self.of_subagent.as_ref().unwrap_or(&self.transcript);
                let (highlighter, now) = (&self.highlighter, self.now);
                let shown = reading.rows(&Paint { transcript, look, highlighter, now }, rows);
                Frame { commit: Vec::new(), live: shown.rows, cursor: shown.cursor }
            }
            (_, Screen::Full) => self.full(rows),
            (_, Screen::Inline) => self.inline(rows),
            (_, Screen::Plain) => self.plain_frame(),
        }
    }

    /// Returns the finished rows and the live region below them.
    fn inline(&mut self, rows: usize) -> Frame {
        let most = match self.overlay {
            Overlay::List(_) | Overlay::Keys(_) => rows,
            _ => (rows / 2).max(usize::from(SMALLEST.1) - 1),
        };
        // At least a row of the unfinished text is shown above.
        let lower = self.lower(most.saturating_sub(1));
        let room = most.saturating_sub(lower.rows.len());
        let step = self.step(&self.options.look.clone(), room.max(1));
        let mut live = step.tail;
        let above = live.len();
        live.extend(lower.rows);
        Frame { commit: step.commit, live, cursor: below(lower.cursor, above) }
    }

    /// Returns the whole screen: the transcript, and below it the composer.
    fn full(&mut self, rows: usize) -> Frame {
        let most = match self.overlay {
            Overlay::List(_) | Overlay::Keys(_) => rows,
            _ => (rows / 2).max(usize::from(SMALLEST.1) - 1),
        };
        let lower = self.lower(most);
        let room = rows.saturating_sub(lower.rows.len());
        let (look, now) = (&self.options.look, self.now);
        let (transcript, highlighter) = (&self.transcript, &self.highlighter);
        let mut live = self.page.rows(room, &Paint { transcript, look, highlighter, now });
        live.resize(room, Row::empty());
        live.extend(lower.rows);
        Frame { commit: Vec::new(), live, cursor: below(lower.cursor, room) }
    }

    /// Takes the rows that are finished now, and those of the unfinished tail. A stored session is
    /// committed once all of it was read, and only its end.
    pub(super) fn step(&mut self, look: &Look, tail_height: usize) -> Step {
        if self.replaying {
            return Step::default();
        }
        let (transcript, highlighter, now) = (&self.transcript, &self.highlighter, self.now);
        let step = self.feed.step(&Paint { transcript, look, highlighter, now }, tail_height);
        self.colouring = step.is_waiting;
        step
    }

    /// Returns the rows below the transcript: panels, waiting messages, composer and status.
    fn lower(&self, most: usize) -> Shown {
        let look = &self.options.look;
        let drawing = Drawing { look, now: self.now, today: self.today, animation: self.options.animation };
        if let Overlay::List(list) = &self.overlay {
            return self.with_message(list.picker.rows(look, most), most);
        }
        if let Overlay::Keys(top) = &self.overlay {
            let mut rows = listing::rows(&self.options.bindings, look);
            let last = rows.len().saturating_sub(most.saturating_sub(1));
            rows.drain(..(*top).min(last));
            rows.truncate(most.saturating_sub(1));
            rows.push(drawing.row(&[(Role::Dim, "↑ ↓: scroll · esc: close")]));
            return Shown { rows, cursor: None };
        }
        let mut rows = vec![drawing.rule()];
        if let Some(session) = &self.session {
            if let (Some(turn), true) = (session.turn, self.asks.is_empty()) {
                rows.push(work::turn(turn, drawing));
            }
            match self.overlay {
                Overlay::Work(selected) => {
                    rows.extend(work::opened(session, selected, most.saturating_sub(4).max(2), drawing));
                }
                _ => rows.extend(work::summary(session, drawing)),
            }
        }
        let mut cursor = None;
        if !self.asks.is_empty() {
            let room = most.saturating_sub(rows.len() + 2).clamp(3, PANEL_ROWS);
            let panel = self.asks.rows(look, room, self.now);
            cursor = below(panel.cursor, rows.len());
            rows.extend(panel.rows);
        }
        rows.extend(work::waiting(&self.waiting, drawing));
        rows.extend(self.retry_row(drawing));
        rows.extend(self.held_row(drawing));
        let room = most.saturating_sub(rows.len() + 1).clamp(1, COMPOSER_ROWS);
        let composer = self.composer.rows(room);
        // On a low screen the first rows give way: rule, turn, plan, and then those of a question.
        let surplus = (rows.len() + composer.rows.len() + 1).saturating_sub(most).min(rows.len());
        rows.drain(..surplus);
        cursor =
            cursor.and_then(|(column, row)| Some((column, row.checked_sub(u16::try_from(surplus).ok()?)?)));
        if cursor.is_none() && !matches!(self.overlay, Overlay::Work(_)) && !self.asks.has_focus() {
            cursor = below(composer.cursor, rows.len());
        }
        rows.extend(composer.rows);
        let room = most.saturating_sub(rows.len() + 1);
        rows.extend(self.composer.completion_rows(room));
        rows.push(self.last_row(drawing));
        Shown { rows, cursor }
    }

    /// Returns the rows of a list with a message of the interface above its last row.
    fn with_message(&self, mut list: Shown, most: usize) -> Shown {
        let Some(message) = &self.message else { return list };
        let look = &self.options.look;
        let width = look.width.max(1);
        let span = look.span(message.role, &agent::one_line(&message.text));
        let lines = wrap(&[span], width, width, look.measure).into_iter().take(LIST_MESSAGE_ROWS);
        let rows: Vec<Row> = lines.map(|line| Row::new(Line::from(line))).collect();
        let foot = list.rows.pop();
        list.rows.truncate(most.saturating_sub(rows.len() + 1).max(1));
        list.rows.extend(rows);
        list.rows.extend(foot);
        list.rows.truncate(most.max(1));
        list
    }

    /// Returns a message of the interface, or else the status.
    fn last_row(&self, drawing: Drawing<'_>) -> Row {
        match (&self.message, &self.session) {
            (Some(message), _) => drawing.row(&[(message.role, &agent::one_line(&message.text))]),
            (None, Some(session)) => status::status(session, drawing.look),
            (None, None) => drawing.row(&[(Role::Dim, "opening the session …")]),
        }
    }

    /// Returns the composer and one word, for a screen that is too small for more.
    fn tiny(&mut self) -> Frame {
        let look = &self.options.look;
        let composer = self.composer.rows(1);
        let mut live = composer.rows;
        if self.rows > 1 {
            let word = match (self.asks.is_empty(), self.is_running()) {
                (false, _) => "asks",
                (true, true) => "works",
                (true, false) => "ready",
            };
            let drawing =
                Drawing { look, now: self.now, today: self.today, animation: self.options.animation };
            live.push(drawing.row(&[(Role::Dim, word)]));
        }
        Frame { commit: Vec::new(), live, cursor: composer.cursor }
    }
}

/// Moves a cursor down by rows that were put above it.
fn below(cursor: Option<(u16, u16)>, rows: usize) -> Option<(u16, u16)> {
    let (column, row) = cursor?;
    Some((column, row.saturating_add(u16::try_from(rows).ok()?)))
}
