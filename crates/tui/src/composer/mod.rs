//! The message that the user writes.
//!
//! The text is a [`Draft`] of grapheme clusters and atomic tokens: long pasted texts, images and
//! mentioned files, which are moved over and deleted as one and sent byte for byte. [`Composer`]
//! adds what readline has (cut and insert, undo, history and its search), completions, and a second
//! draft that is put aside.
//!
//! Keys arrive as actions ([`Composer::act`]) or, if nothing is bound to them, as typed characters
//! ([`Composer::key`]). Nothing here reads a clock, and nothing is sent from here: what is to be
//! sent is returned.

mod complete;
mod draft;
mod editing;
mod fragment;
mod history;
mod kill_ring;
mod layout;
mod search;
mod shown;
#[cfg(test)]
mod tests;
mod token;
mod undo;

pub use complete::Sources;
pub use draft::Draft;
pub use fragment::{Fragment, Part};
pub use history::{Entry, EntryPart, History};
pub use token::{Image, Token};

use crate::input::{Key, KeyCode};
use crate::keys::{Action, Place};
use crate::limits::{PASTE_CHARS, PASTE_LINES};
use crate::look::Look;
use crate::shown::{Shown, field_row};
use crate::text::row::Row;
use complete::{Completed, Completions};
use kill_ring::KillRing;
use layout::Layout;
use search::Search;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::Range;
use undo::{Change, Undo};

/// The message that the user writes.
#[derive(Debug, Default)]
pub struct Composer {
    draft: Draft,
    undo: Undo,
    kills: KillRing,
    /// Where the last insertion of a cut text is, for replacing it by an older one.
    yanked: Option<Range<usize>>,
    history: History,
    recall: Option<Recall>,
    search: Option<Search>,
    aside: Option<Draft>,
    sources: Sources,
    completions: Option<Completions>,
    /// Where completions were closed; they stay closed for this word.
    closed: Option<usize>,
    /// Theme, width and measure.
    look: Look,
    /// The column that moves up and down aim for.
    column: Option<usize>,
    /// The first row that was shown last.
    top: Cell<usize>,
}

/// The walk through the history.
#[derive(Debug)]
struct Recall {
    /// How far back the shown message is.
    back: usize,
    /// The drafts that were edited on the way, by how far back they are; the user's own under
    /// `None`.
    edited: BTreeMap<Option<usize>, Draft>,
}

/// What an action or a key led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It is not the composer's.
    Ignored,
    /// The composer may look different now.
    Changed,
    /// The message is to be sent.
    Sent(Sent),
}

/// A message to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// The message.
    pub message: Message,
    /// What to store of it for later sessions; `None` if it contains what looks like a secret.
    pub entry: Option<Entry>,
    /// Whether it is to be sent after the running turn.
    pub after: bool,
}

/// The content of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// A prompt, or a slash command. Pasted texts are as they were pasted.
    Prompt(Vec<Part>),
    /// A command of the user's own: what follows `!`.
    Command(String),
}

impl Composer {
    /// Creates an empty composer.
    pub fn new(history: History, look: Look) -> Self {
        Self { history, look, ..Self::default() }
    }

    /// Replaces what can be completed.
    pub fn set_sources(&mut self, sources: Sources) {
        self.sources = sources;
        if self.completions.is_some() {
            self.complete();
        }
    }

    /// Returns what can be completed.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// Sets theme, width and measure, which rows are made for.
    pub fn set_look(&mut self, look: Look) {
        (self.look, self.column) = (look, None);
    }

    /// Returns whether there is nothing in the message, nor a search open.
    pub fn is_empty(&self) -> bool {
        self.draft.is_empty() && self.search.is_none()
    }

    /// Returns whether completions are shown.
    pub fn is_completing(&self) -> bool {
        self.completions.is_some()
    }

    /// Returns the place in the table of keys.
    pub fn place(&self) -> Place {
        if self.search.is_some() { Place::Search } else { Place::Composer }
    }

    /// Returns the content, with its tokens.
    pub fn content(&self) -> &Fragment {
        self.draft.content()
    }

    /// Returns the first line of the draft that is put aside.
    pub fn aside(&self) -> Option<String> {
        let text: String = self.aside.as_ref()?.content().parts().iter().map(shown_part).collect();
        Some(agent::one_line(text.lines().next().unwrap_or_default()))
    }

    /// Performs an action of the composer's place.
    pub fn act(&mut self, action: Action) -> Outcome {
        if self.search.is_some() {
            return self.search_act(action);
        }
        let cuts = matches!(
            action,
            Action::KillWord | Action::KillWordBack | Action::KillLineEnd | Action::KillLineStart
        );
        if !cuts {
            self.kills.end_run();
        }
        if !matches!(action, Action::Yank | Action::YankOlder) {
            self.yanked = None;
        }
        if !matches!(action, Action::Up | Action::Down) {
            self.column = None;
        }
        match action {
            Action::Send => return self.send(false),
            Action::After => return self.send(true),
            Action::Complete => return self.accept(false),
            Action::CompletionNext => self.select(true),
            Action::CompletionPrevious => self.select(false),
            Action::CompletionClose => self.close_completions(),
            Action::NewLine => self.insert("\n"),
            Action::Up => self.up(),
            Action::Down => self.down(),
            Action::SearchHistory => self.search = Some(Search::default()),
            Action::Aside => self.swap_aside(),
            other => return self.edit(other),
        }
        Outcome::Changed
    }

    /// Takes a key that nothing is bound to: a character is typed.
    pub fn key(&mut self, key: Key) -> Outcome {
        if let Some(search) = &mut self.search {
            return if search.key(key, &self.history) { Outcome::Changed } else { Outcome::Ignored };
        }
        match key.code {
            KeyCode::Char(c) if !key.ctrl && !key.alt => {
                self.end_runs();
                let text = c.to_string();
                self.change(Change::Typed, |draft| draft.insert(Fragment::text(text)));
                if c.is_whitespace() {
                    self.undo.end_step();
                }
                Outcome::Changed
            }
            _ => Outcome::Ignored,
        }
    }

    /// Takes a pasted text. A long one becomes a token; the same text pasted again right behind it
    /// replaces the token by the text itself.
    pub fn paste(&mut self, text: &str) {
        if let Some(search) = &mut self.search {
            return search.insert(text, &self.history);
        }
        // A line that was copied with its end is not meant to begin another one.
        let text = match text.strip_suffix("\r\n").or_else(|| text.strip_suffix('\n')) {
            Some(line) if !line.contains('\n') => line,
            _ => text,
        };
        self.end_runs();
        let again = self.draft.token_before(self.draft.cursor());
        if let Some((at, Token::Paste(before))) = again
            && &**before == text
        {
            return self.expand(at);
        }
        let long = text.split('\n').count() > PASTE_LINES || text.chars().count() > PASTE_CHARS;
        let what = match long {
            true => Fragment::token(Token::Paste(text.into())),
            // A `\r` would stand at the end of each line that is edited.
            false => Fragment::text(text.replace("\r\n", "\n")),
        };
        self.change(Change::Whole, |draft| draft.insert(what));
    }

    /// Inserts a text as if it was typed at once.
    pub fn insert(&mut self, text: &str) {
        self.end_runs();
        self.change(Change::Whole, |draft| draft.insert(Fragment::text(text)));
    }

    /// Attaches an image as a token. `id` identifies it in the message that is sent.
    pub fn attach(&mut self, id: u64, width: u32, height: u32) {
        self.end_runs();
        let images = self.draft.content().tokens.values().filter_map(|token| match token {
            Token::Image(image) => Some(image.number),
            _ => None,
        });
        let number = images.max().unwrap_or(0) + 1;
        let image = Token::Image(Image { id, number, width, height });
        self.change(Change::Whole, |draft| draft.insert(Fragment::token(image)));
    }

    /// Mentions a file as a token.
    pub fn mention(&mut self, path: &str) {
        self.end_runs();
        self.change(Change::Whole, |draft| draft.insert(Fragment::token(Token::File(path.into()))));
    }

    /// Replaces the message; undo brings the old one back.
    pub fn set(&mut self, content: Fragment) {
        self.end_runs();
        self.recall = None;
        self.change(Change::Whole, |draft| *draft = Draft::new(content));
        self.completions = None;
    }

    /// Puts a message that was not sent before what is written now, each on lines of its own.
    pub fn put_back(&mut self, content: Fragment) {
        self.end_runs();
        self.change(Change::Whole, |draft| {
            let behind = draft.cursor() + content.text.len();
            let gap = !draft.is_empty();
            let mut all = content;
            let mut end = all.text.len();
            if gap {
                all.replace(end..end, Fragment::text("\n"));
                end += 1;
            }
            all.replace(end..end, draft.content().clone());
            *draft = Draft::new(all);
            draft.move_to(behind + usize::from(gap));
        });
        self.completions = None;
    }

    /// Clears the message, which undo and the history bring back. Returns what to store of it.
    pub fn clear(&mut self) -> Option<Entry> {
        self.search = None;
        self.end_runs();
        let entry = Entry::of(self.draft.content());
        if let Some(entry) = &entry {
            self.history.push(entry.clone());
        }
        self.set(Fragment::default());
        entry
    }

    /// Returns the message as text for an editor: pasted texts as they are, images by their labels.
    pub fn as_text(&self) -> String {
        let text = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::Token(token) => token.text().unwrap_or_else(|| token.label()),
        };
        self.draft.content().parts().iter().map(text).collect()
    }

    /// Replaces the message by an edited text; labels of its images stand for the images again.
    pub fn set_text(&mut self, text: &str) {
        let mut content = Fragment::text(text);
        let images = self.draft.content().tokens.values().filter(|token| matches!(token, Token::Image(_)));
        for image in images {
            let label = image.label();
            if let Some(at) = content.text.find(&label) {
                content.replace(at..at + label.len(), Fragment::token(image.clone()));
            }
        }
        self.set(content);
    }

    /// Returns at most `most` rows around the cursor.
    pub fn rows(&self, most: usize) -> Shown {
        if let Some(search) = &self.search {
            let mut shown = field_row("search older messages: ", search.query(), &search.state(), &self.look);
            if let Some(hit) = search.hit(&self.history).filter(|_| most > 1) {
                let draft = Draft::new(hit.content());
                let layout = layout(&draft, &self.look);
                let (hit, _) = shown::rows(&draft, &layout, &self.look, most - 1, 0, None);
                shown.rows.extend(hit.rows);
            }
            return shown;
        }
        let layout = self.layout();
        let hint = complete::argument_hint(&self.draft, &self.sources);
        let (shown, top) =
            shown::rows(&self.draft, &layout, &self.look, most, self.top.get(), hint.as_deref());
        self.top.set(top);
        shown
    }

    /// Returns at most `most` rows of completions; none if none are shown.
    pub fn completion_rows(&self, most: usize) -> Vec<Row> {
        let completions = self.completions.as_ref();
        completions.map_or_else(Vec::new, |it| it.rows(&self.sources, &self.look, most))
    }

    /// Puts the cursor at a cell of the rows that were shown last.
    pub fn click(&mut self, column: u16, row: u16) {
        let margin = self.look.width.max(1) - shown::text_width(self.look.width);
        let column = usize::from(column).saturating_sub(margin);
        let at = self.layout().offset(&self.draft, self.top.get() + usize::from(row), column);
        self.end_runs();
        self.draft.move_to(at);
    }

    fn layout(&self) -> Layout {
        layout(&self.draft, &self.look)
    }

    fn send(&mut self, after: bool) -> Outcome {
        if self.completions.is_some() {
            match self.accept(true) {
                Outcome::Ignored => {}
                other => return other,
            }
        }
        let cursor = self.draft.cursor();
        if let Some(Token::Paste(_)) = self.draft.token_at(cursor).filter(|_| !after) {
            self.expand(cursor);
            return Outcome::Changed;
        }
        if !after && self.draft.token_before(cursor).is_none() && self.draft.text()[..cursor].ends_with('\\')
        {
            let before = self.draft.previous(cursor);
            self.change(Change::Whole, |draft| draft.replace(before..cursor, Fragment::text("\n")));
            return Outcome::Changed;
        }
        let content = self.draft.content();
        if content.tokens.is_empty() && content.text.trim().is_empty() {
            return Outcome::Changed;
        }
        let entry = Entry::of(content);
        let message = match content.text.strip_prefix('!') {
            Some(_) => Message::Command(self.as_text().split_off(1)),
            None => Message::Prompt(content.parts()),
        };
        if let Some(entry) = &entry {
            self.history.push(entry.clone());
        }
        self.end_runs();
        self.recall = None;
        self.draft = Draft::default();
        self.undo = Undo::default();
        self.close_completions();
        self.closed = None;
        Outcome::Sent(Sent { message, entry, after })
    }

    /// Puts the selected completion into the message. With `sends`, a complete command is left to
    /// be sent.
    fn accept(&mut self, sends: bool) -> Outcome {
        let Some(completions) = self.completions.take() else { return Outcome::Ignored };
        if sends && completions.is_typed(&self.draft, &self.sources) {
            return Outcome::Ignored;
        }
        let mut draft = self.draft.clone();
        let completed = completions.complete(&mut draft, &self.sources);
        if completed.is_some() {
            self.end_runs();
            self.change(Change::Whole, |old| *old = draft);
            self.completions = None;
        }
        match completed {
            Some(Completed::Command) if sends && completions.start() == 0 => Outcome::Ignored,
            Some(_) => Outcome::Changed,
            None if sends => Outcome::Ignored,
            None => Outcome::Changed,
        }
    }

    fn select(&mut self, forward: bool) {
        if let Some(completions) = &mut self.completions {
            completions.select(forward);
        }
    }

    fn close_completions(&mut self) {
        self.closed = self.completions.take().map(|completions| completions.start());
    }

    /// Finds the completions of the word before the cursor.
    fn complete(&mut self) {
        self.completions = Completions::of(&self.draft, &self.sources);
        match &self.completions {
            Some(completions) if self.closed == Some(completions.start()) => self.completions = None,
            Some(_) => self.closed = None,
            None => {}
        }
    }

    /// Replaces a token by the text that it stands for.
    fn expand(&mut self, at: usize) {
        let Some(text) = self.draft.token_at(at).and_then(Token::text) else { return };
        let range = at..self.draft.next(at);
        self.change(Change::Whole, |draft| draft.replace(range, Fragment::text(text)));
    }

    fn up(&mut self) {
        if !self.move_rows(false) {
            self.recall(true);
        }
    }

    fn down(&mut self) {
        if !self.move_rows(true) {
            self.recall(false);
        }
    }

    /// Moves the cursor by a row; returns whether there is one.
    fn move_rows(&mut self, down: bool) -> bool {
        let layout = self.layout();
        let (row, column) = layout.place(&self.draft, self.draft.cursor());
        let target = if down { row + 1 } else { row.wrapping_sub(1) };
        if target >= layout.len() {
            return false;
        }
        let column = *self.column.get_or_insert(column);
        self.draft.move_to(layout.offset(&self.draft, target, column));
        self.undo.end_step();
        self.completions = None;
        true
    }

    /// Goes to the next older or newer message of the history.
    fn recall(&mut self, older: bool) {
        let from = self.recall.as_ref().map(|recall| recall.back);
        let to = match (from, older) {
            (None, true) => Some(0),
            (Some(back), true) => Some(back + 1),
            (Some(back), false) => back.checked_sub(1),
            (None, false) => return,
        };
        let stored = match to {
            None => None,
            Some(back) => match self.history.back(back) {
                Some(entry) => Some(Draft::new(entry.content())),
                None => return,
            },
        };
        let mut edited = self.recall.take().map(|recall| recall.edited).unwrap_or_default();
        edited.insert(from, self.draft.clone());
        let draft = edited.remove(&to).or(stored).unwrap_or_default();
        self.recall = to.map(|back| Recall { back, edited });
        self.undo.before(&self.draft, Change::Whole);
        self.undo.end_step();
        self.draft = draft;
        self.draft.move_to(self.draft.text().len());
        self.column = None;
        self.completions = None;
    }

    fn swap_aside(&mut self) {
        let own = (!self.draft.is_empty()).then(|| self.draft.clone());
        if own.is_none() && self.aside.is_none() {
            return;
        }
        let back = std::mem::replace(&mut self.aside, own).unwrap_or_default();
        self.recall = None;
        self.change(Change::Whole, |draft| *draft = back);
        self.completions = None;
    }

    fn search_act(&mut self, action: Action) -> Outcome {
        let Some(search) = &mut self.search else { return Outcome::Ignored };
        match action {
            Action::SearchOlder => search.step(true),
            Action::SearchNewer => search.step(false),
            Action::SearchClose => self.search = None,
            Action::SearchAccept => {
                let hit = search.hit(&self.history).map(Entry::content);
                self.search = None;
                if let Some(hit) = hit {
                    self.set(hit);
                }
            }
            _ => return Outcome::Ignored,
        }
        Outcome::Changed
    }

    /// Changes the draft in one step of undo and finds the completions anew.
    fn change(&mut self, change: Change, with: impl FnOnce(&mut Draft)) {
        let before = self.draft.clone();
        with(&mut self.draft);
        if before != self.draft {
            self.undo.before(&before, change);
        }
        if change == Change::Whole {
            self.undo.end_step();
        }
        self.complete();
    }

    fn end_runs(&mut self) {
        self.kills.end_run();
        (self.yanked, self.column) = (None, None);
    }
}

fn layout(draft: &Draft, look: &Look) -> Layout {
    Layout::new(draft, shown::text_width(look.width), look.measure)
}

fn shown_part(part: &Part) -> String {
    match part {
        Part::Text(text) => text.clone(),
        Part::Token(token) => token.label(),
    }
}
