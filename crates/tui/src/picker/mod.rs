//! A list to choose from, with a query, a preview and several things to do with a row: models,
//! sessions, modes, themes, files, turns.
//!
//! Where the rows come from is the caller's. A list is searched here as one types, or by the
//! caller ([`Picker::searches`]), who then replaces the rows.

mod item;
#[cfg(test)]
mod tests;

use item::Columns;
pub use item::Item;

use crate::field::Field;
use crate::fuzzy::ranked;
use crate::input::Key;
use crate::keys::{Action, Bindings};
use crate::limits::PREVIEW_ROWS;
use crate::look::Look;
use crate::shown::{Shown, field_row};
use crate::text::{cut::cut_text, row::Row};
use crate::theme::Role;
use std::cell::Cell;

/// A list to choose from.
#[derive(Debug, Clone)]
pub struct Picker {
    title: String,
    query: Field,
    items: Vec<Item>,
    /// What is searched of each row.
    searched: Vec<String>,
    /// The rows that match, the best first.
    found: Vec<usize>,
    /// Which of the found rows is selected.
    selected: usize,
    /// Whether the caller searches.
    searches: bool,
    scopes: Vec<String>,
    scope: usize,
    offers: Vec<(How, String)>,
    columns: Columns,
    loading: bool,
    /// Whether there are more rows than were read.
    more: bool,
    /// Shown in place of rows if there are none.
    empty: String,
    /// The row that is selected at first, if not the marked one.
    first: Option<usize>,
    /// What closing the list does.
    closes: &'static str,
    edited: Option<Edited>,
    bindings: Bindings,
    /// The first row that was shown last, and how many were.
    window: Cell<(usize, usize)>,
}

/// A row whose name is being typed.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Edited {
    index: usize,
    label: String,
    field: Field,
}

/// What to do with a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum How {
    /// Open or choose it.
    Open,
    /// Choose it, also as the default.
    Default,
    /// Fork it.
    Fork,
    /// Rename it.
    Rename,
    /// Archive it.
    Archive,
}

/// What an action led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It is not the list's.
    Ignored,
    /// The list may look different now.
    Changed,
    /// Another scope was chosen, by its number; the caller replaces the rows.
    Scope(usize),
    /// A row was picked.
    Picked {
        /// The row's number among all.
        index: usize,
        /// What to do with it.
        how: How,
    },
    /// A text was typed for a row; see [`Picker::edit`].
    Edited {
        /// The row's number among all.
        index: usize,
        /// The text.
        text: String,
    },
    /// The list is to be closed.
    Closed,
}

impl How {
    fn action(self) -> Action {
        match self {
            Self::Open => Action::PickerOpen,
            Self::Default => Action::PickerDefault,
            Self::Fork => Action::PickerFork,
            Self::Rename => Action::PickerRename,
            Self::Archive => Action::PickerArchive,
        }
    }
}

impl Picker {
    /// Creates a list that Enter opens a row of. It has no rows yet.
    pub fn new(title: impl Into<String>, bindings: Bindings) -> Self {
        Self {
            title: title.into(),
            query: Field::default(),
            items: Vec::new(),
            searched: Vec::new(),
            found: Vec::new(),
            selected: 0,
            searches: false,
            scopes: Vec::new(),
            scope: 0,
            offers: vec![(How::Open, "open".to_owned())],
            columns: Columns::default(),
            loading: false,
            more: false,
            empty: "nothing matches".to_owned(),
            first: None,
            closes: "back",
            edited: None,
            bindings,
            window: Cell::new((0, 1)),
        }
    }

    /// Sets what can be done with a row, each with the verb that is shown.
    #[must_use]
    pub fn offers(mut self, offers: impl IntoIterator<Item = (How, &'static str)>) -> Self {
        self.offers = offers.into_iter().map(|(how, verb)| (how, verb.to_owned())).collect();
        self
    }

    /// Sets the lists that Tab goes through, and which is shown first.
    #[must_use]
    pub fn scopes(mut self, names: impl IntoIterator<Item = &'static str>, first: usize) -> Self {
        self.scopes = names.into_iter().map(str::to_owned).collect();
        self.scope = first.min(self.scopes.len().saturating_sub(1));
        self
    }

    /// Sets the column that is cut first when the terminal is narrow; the others are left out from
    /// the right after that.
    #[must_use]
    pub fn flexible(mut self, column: usize) -> Self {
        self.columns.flexible = column;
        self
    }

    /// Sets which columns are left out first when the terminal is narrow, in this order.
    #[must_use]
    pub fn leaves_out(mut self, columns: impl Into<Vec<usize>>) -> Self {
        self.columns.left_out = columns.into();
        self
    }

    /// Sets which columns are shown whole or not at all.
    #[must_use]
    pub fn uncut(mut self, columns: impl Into<Vec<usize>>) -> Self {
        self.columns.uncut = columns.into();
        self
    }

    /// Sets which columns have numbers, which are aligned at the right.
    #[must_use]
    pub fn numbers(mut self, columns: impl Into<Vec<usize>>) -> Self {
        self.columns.numbers = columns.into();
        self
    }

    /// Sets the column that names the row, which is marked when the row is selected.
    #[must_use]
    pub fn main(mut self, column: usize) -> Self {
        self.columns.main = Some(column);
        self
    }

    /// Lets the caller search: the rows are shown as they are, whatever the query is.
    #[must_use]
    pub fn searches(mut self) -> Self {
        self.searches = true;
        self
    }

    /// Sets what is shown if there are no rows.
    #[must_use]
    pub fn empty(mut self, text: impl Into<String>) -> Self {
        self.empty = text.into();
        self
    }

    /// Sets the verb for closing the list.
    #[must_use]
    pub fn closes(mut self, verb: &'static str) -> Self {
        self.closes = verb;
        self
    }

    /// Sets the row that is selected at first, by its number among all.
    #[must_use]
    pub fn selects(mut self, first: usize) -> Self {
        self.first = Some(first);
        self
    }

    /// Sets the query.
    #[must_use]
    pub fn query_of(mut self, text: &str) -> Self {
        self.query = Field::new(text);
        self.find();
        self
    }

    /// Replaces the rows. The selected one stays selected if it is among them; at first it is the
    /// marked one, or that of [`Picker::selects`].
    pub fn set_items(&mut self, items: Vec<Item>) {
        let first = self.items.is_empty();
        let before = self.index().and_then(|index| self.items.get(index)).map(|item| item.columns.clone());
        self.searched = items.iter().map(Item::searched).collect();
        self.items = items;
        self.find();
        let kept = |index: &usize| {
            let item = &self.items[*index];
            if let (true, Some(selected)) = (first, self.first) {
                return *index == selected;
            }
            if first { item.marked } else { Some(&item.columns) == before.as_ref() }
        };
        self.selected = self.found.iter().position(kept).unwrap_or(0);
    }

    /// Sets whether further rows are being read.
    pub fn set_loading(&mut self, loading: bool) {
        self.loading = loading;
    }

    /// Sets whether there are more rows than were read: the number of rows is then a lower bound.
    pub fn set_more(&mut self, more: bool) {
        self.more = more;
    }

    /// Replaces the preview of a row, by its number among all.
    pub fn set_preview(&mut self, index: usize, preview: Vec<(String, String)>) {
        if let Some(item) = self.items.get_mut(index) {
            item.preview = preview;
        }
    }

    /// Returns what is searched for.
    pub fn query(&self) -> &str {
        self.query.text()
    }

    /// Returns the number of the shown scope.
    pub fn scope(&self) -> usize {
        self.scope
    }

    /// Returns the number of the selected row among all.
    pub fn index(&self) -> Option<usize> {
        self.found.get(self.selected).copied()
    }

    /// Lets the user type a text for a row, such as a new name, that begins with `text`.
    pub fn edit(&mut self, index: usize, label: impl Into<String>, text: &str) {
        self.edited = Some(Edited { index, label: label.into(), field: Field::new(text) });
    }

    /// Performs an action of the list's place.
    pub fn act(&mut self, action: Action) -> Outcome {
        if let Some(edited) = self.edited.take() {
            return match action {
                Action::PickerClose => Outcome::Changed,
                Action::PickerOpen => {
                    Outcome::Edited { index: edited.index, text: edited.field.text().trim().to_owned() }
                }
                _ => {
                    self.edited = Some(edited);
                    Outcome::Ignored
                }
            };
        }
        let last = self.found.len().saturating_sub(1);
        let page = self.window.get().1.max(1);
        match action {
            Action::PickerUp => self.selected = self.selected.checked_sub(1).unwrap_or(last),
            Action::PickerDown => self.selected = if self.selected >= last { 0 } else { self.selected + 1 },
            Action::PickerPageUp => self.selected = self.selected.saturating_sub(page),
            Action::PickerPageDown => self.selected = (self.selected + page).min(last),
            Action::PickerFirst => self.selected = 0,
            Action::PickerLast => self.selected = last,
            Action::PickerNextScope => return self.turn(1),
            Action::PickerPreviousScope => return self.turn(self.scopes.len().saturating_sub(1)),
            Action::PickerClose => return Outcome::Closed,
            other => {
                let offer = self.offers.iter().find(|(how, _)| how.action() == other);
                return match (offer, self.index()) {
                    (Some((how, _)), Some(index)) => Outcome::Picked { index, how: *how },
                    (Some(_), None) => Outcome::Changed,
                    (None, _) => Outcome::Ignored,
                };
            }
        }
        Outcome::Changed
    }

    /// Takes a key that nothing is bound to; returns whether it changed the query.
    pub fn key(&mut self, key: Key) -> bool {
        if let Some(edited) = &mut self.edited {
            edited.field.key(key);
            return false;
        }
        let before = self.query.text().to_owned();
        self.query.key(key);
        self.queried(&before)
    }

    /// Takes a pasted text; returns whether it changed the query.
    pub fn paste(&mut self, text: &str) -> bool {
        if let Some(edited) = &mut self.edited {
            edited.field.insert(text);
            return false;
        }
        let before = self.query.text().to_owned();
        self.query.insert(text);
        self.queried(&before)
    }

    /// Returns the list in at most `most` rows: the query, the rows around the selected one, its
    /// preview, and the keys.
    pub fn rows(&self, look: &Look, most: usize) -> Shown {
        let mut shown = match &self.edited {
            Some(edited) => field_row(&format!("{}: ", edited.label), &edited.field, "", look),
            None => {
                let name = format!("{} > ", self.title);
                field_row(&name, &self.query, &self.state(&name, look), look)
            }
        };
        let selected = self.index().and_then(|index| self.items.get(index));
        let room = most.saturating_sub(2).max(1);
        let preview =
            selected.map_or_else(Vec::new, |item| item::preview(item, PREVIEW_ROWS.min(room / 3), look));
        let room = room.saturating_sub(preview.len()).max(1);
        let (top, _) = self.window.get();
        let top = top.clamp((self.selected + 1).saturating_sub(room), self.selected);
        let top = top.min(self.found.len().saturating_sub(room));
        self.window.set((top, room));
        let window: Vec<_> =
            self.found.iter().skip(top).take(room).filter_map(|index| self.items.get(*index)).collect();
        let widths = self.columns.widths(&window, look);
        let query = if self.searches { "" } else { self.query.text() };
        for (at, item) in window.iter().enumerate() {
            shown.rows.push(self.columns.row(item, &widths, top + at == self.selected, query, look));
        }
        if window.len() < room && (self.loading || window.is_empty()) {
            let text = if self.loading { "reading…" } else { &self.empty };
            shown.rows.push(line(&format!("  {text}"), look));
        }
        shown.rows.extend(preview);
        shown.rows.push(line(&self.foot(), look));
        shown.rows.truncate(most.max(1));
        shown
    }

    /// Returns `most` rows from a number on as numbered lines, for a screen of plain lines.
    pub fn numbered(&self, from: usize, most: usize) -> Vec<String> {
        let one = |(at, index): (usize, &usize)| {
            let item = self.items.get(*index)?;
            let columns =
                item.columns.iter().map(|text| agent::one_line(text)).filter(|text| !text.is_empty());
            let marked = if item.marked { " (current)" } else { "" };
            Some(format!("{}. {}{marked}", at + 1, columns.collect::<Vec<_>>().join(", ")))
        };
        self.found.iter().enumerate().skip(from).take(most).filter_map(one).collect()
    }

    /// Returns the number of the selected row in [`Picker::numbered`].
    pub fn number(&self) -> Option<usize> {
        self.index().map(|_| self.selected + 1)
    }

    /// Selects a row by its number in [`Picker::numbered`], from 1; returns its number among all.
    pub fn select_number(&mut self, number: usize) -> Option<usize> {
        let at = number.checked_sub(1).filter(|at| *at < self.found.len())?;
        self.selected = at;
        self.index()
    }

    fn turn(&mut self, step: usize) -> Outcome {
        if self.scopes.len() < 2 {
            return Outcome::Changed;
        }
        self.scope = (self.scope + step) % self.scopes.len();
        self.selected = 0;
        Outcome::Scope(self.scope)
    }

    fn queried(&mut self, before: &str) -> bool {
        let changed = before != self.query.text();
        if changed {
            self.find();
            self.selected = 0;
        }
        changed
    }

    fn find(&mut self) {
        self.found = match self.searches {
            true => (0..self.items.len()).collect(),
            false => ranked(self.query.text(), &self.searched),
        };
        self.selected = self.selected.min(self.found.len().saturating_sub(1));
    }

    /// Returns the scope and the place in the list, `this folder · tab: all · 3 of 214`, as far as
    /// they fit beside the name and a query.
    fn state(&self, name: &str, look: &Look) -> String {
        let at = if self.found.is_empty() { 0 } else { self.selected + 1 };
        let mut parts = vec![format!("{at} of {}{}", self.found.len(), if self.more { "+" } else { "" })];
        if let (Some(scope), true) = (self.scopes.get(self.scope), self.scopes.len() > 1) {
            let next = &self.scopes[(self.scope + 1) % self.scopes.len()];
            let key = self.bindings.key_of(Action::PickerNextScope);
            parts.splice(0..0, key.map(|key| format!("{key}: {next}")));
            parts.insert(0, scope.clone());
        }
        let room = (look.width / 2).min(look.width.saturating_sub(look.measure.text(name) + look.width / 4));
        while parts.len() > 1 && look.measure.text(&parts.join(" · ")) > room {
            // The scope says more than the key that changes it.
            parts.remove(parts.len() - 2);
        }
        parts.join(" · ")
    }

    fn foot(&self) -> String {
        let key = |action, verb: &str| Some(format!("{} {verb}", self.bindings.key_of(action)?));
        let parts: Vec<_> = match &self.edited {
            Some(_) => [key(Action::PickerOpen, "accept"), key(Action::PickerClose, "back")]
                .into_iter()
                .flatten()
                .collect(),
            None => {
                let offers = self.offers.iter().filter_map(|(how, verb)| key(how.action(), verb));
                offers.chain(key(Action::PickerClose, self.closes)).collect()
            }
        };
        parts.join(" · ")
    }
}

fn line(text: &str, look: &Look) -> Row {
    Row::from(look.span(Role::Dim, &cut_text(text, look.width, look.measure)))
}
