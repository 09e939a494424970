//! What is shown: the rows of the live region, or of the whole screen.

use super::{App, Overlay, status, work};
use crate::{
    keys::listing,
    limits::{COMPOSER_ROWS, MESSAGE_ROWS, PANEL_ROWS},
    look::Look,
    screens::frame::{Frame, Screen},
    shown::Shown,
    text::{cut::cut, row::Row, wrap::wrap},
    theme::Role,
    transcript::{Step, rows::Paint},
};
use ratatui_core::text::Line;
use work::Drawing;

/// The rows below the transcript from which a narrow screen has two for the status.
const ROOMY: usize = 8;
/// The rows of a screen below which a question may take all of it.
const LOW_SCREEN: usize = 20;
/// The rows that a question leaves to what led to it.
const ROWS_BEFORE_A_QUESTION: usize = 6;
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
        // At least a row of the unfinished text is shown above.
        let lower = self.lower(self.most(rows).saturating_sub(1));
        let room = half(rows).saturating_sub(lower.rows.len());
        let step = self.step(&self.options.look.clone(), room.max(1));
        let mut live = step.tail;
        let above = live.len();
        live.extend(lower.rows);
        Frame { commit: step.commit, live, cursor: below(lower.cursor, above) }
    }

    /// Returns the most rows below the transcript: half of the screen, all of it for a list, and
    /// for a question as many as leave a few of what led to it.
    fn most(&self, rows: usize) -> usize {
        match self.overlay {
            Overlay::List(_) | Overlay::Keys(_) => rows,
            _ if self.asks.is_empty() => half(rows),
            // What is approved must be seen: a low screen has room for nothing else.
            _ if rows < LOW_SCREEN => rows,
            _ => half(rows).max(rows.saturating_sub(ROWS_BEFORE_A_QUESTION)),
        }
    }

    /// Returns the whole screen: the transcript, and below it the composer.
    fn full(&mut self, rows: usize) -> Frame {
        let lower = self.lower(self.most(rows));
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
            let mut shown = list.picker.rows(look, most);
            // A message takes the place of the keys, and of the last rows if it needs more.
            if let Some(message) = self.message_rows(drawing)
                && shown.rows.len() > message.len()
            {
                shown.rows.pop();
                shown.rows.truncate(most.saturating_sub(message.len()));
                shown.rows.extend(message);
            }
            return shown;
        }
        if let Overlay::Binding(binding) = &self.overlay {
            let mut rows = binding.rows(drawing);
            rows.truncate(most.max(1));
            return Shown { rows, cursor: None };
        }
        if let Overlay::Keys(top) = &self.overlay {
            let mut rows = listing::rows(&self.options.bindings, look);
            let last = rows.len().saturating_sub(most.saturating_sub(1));
            rows.drain(..(*top).min(last));
            rows.truncate(most.saturating_sub(1));
            rows.push(drawing.row(&[(Role::Dim, "↑ ↓: scroll · esc: close")]));
            return Shown { rows, cursor: None };
        }
        let last = self.last_rows(drawing, if most >= ROOMY { 2 } else { 1 });
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
            let beside = 1 + last.len();
            if usize::from(self.rows) < LOW_SCREEN {
                rows.clear();
            }
            let room = most.saturating_sub(rows.len() + beside).clamp(3, PANEL_ROWS);
            let panel = self.asks.rows(look, room, self.now);
            cursor = below(panel.cursor, rows.len());
            rows.extend(panel.rows);
        }
        rows.extend(work::waiting(&self.waiting, drawing));
        rows.extend(self.retry_row(drawing));
        rows.extend(self.held_row(drawing));
        let room = most.saturating_sub(rows.len() + last.len()).clamp(1, COMPOSER_ROWS);
        let composer = self.composer.rows(room);
        // On a low screen the first rows give way: rule, turn, plan, and then those of a question.
        let needed = composer.rows.len() + last.len();
        let surplus = (rows.len() + needed).saturating_sub(most).min(rows.len());
        rows.drain(..surplus);
        cursor =
            cursor.and_then(|(column, row)| Some((column, row.checked_sub(u16::try_from(surplus).ok()?)?)));
        if cursor.is_none() && !matches!(self.overlay, Overlay::Work(_)) && !self.asks.has_focus() {
            cursor = below(composer.cursor, rows.len());
        }
        rows.extend(composer.rows);
        let room = most.saturating_sub(rows.len() + last.len());
        rows.extend(self.composer.completion_rows(room));
        rows.extend(last);
        // A long message gives way to the composer.
        rows.truncate(most.max(1));
        Shown { rows, cursor }
    }

    /// Returns the status in at most `most` rows, with a message of the interface in place of the
    /// first.
    fn last_rows(&self, drawing: Drawing<'_>, most: usize) -> Vec<Row> {
        let mut rows = match &self.session {
            Some(session) => status::status(session, drawing.look, most),
            None => vec![drawing.row(&[(Role::Dim, "opening the session …")])],
        };
        if let Some(message) = self.message_rows(drawing) {
            // In place of rows, so that nothing above moves for a short one.
            rows.splice(..message.len().min(rows.len()), message);
        }
        rows
    }

    /// Returns the rows of the message of the interface, if there is one.
    fn message_rows(&self, drawing: Drawing<'_>) -> Option<Vec<Row>> {
        let message = self.message.as_ref()?;
        let look = drawing.look;
        let spans = [look.span(message.role, &agent::one_line(&message.text))];
        let mut lines = wrap(&spans, look.width, look.width, look.measure);
        if lines.len() > MESSAGE_ROWS {
            lines.truncate(MESSAGE_ROWS);
            if let Some(last) = lines.last_mut() {
                last.push(look.span(message.role, "…"));
                *last = cut(std::mem::take(last), look.width, look.measure);
            }
        }
        Some(lines.into_iter().map(|line| Row::new(Line::from(line))).collect())
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

/// Returns half of the rows of a screen, and no fewer than the smallest one has.
fn half(rows: usize) -> usize {
    (rows / 2).max(usize::from(SMALLEST.1) - 1)
}

/// Moves a cursor down by rows that were put above it.
fn below(cursor: Option<(u16, u16)>, rows: usize) -> Option<(u16, u16)> {
    let (column, row) = cursor?;
    Some((column, row.saturating_add(u16::try_from(rows).ok()?)))
}
