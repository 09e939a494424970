//! Completion of commands and files while they are typed.

use super::draft::Draft;
use super::fragment::Fragment;
use super::token::Token;
use crate::fuzzy::ranked;
use crate::limits::COMPLETIONS;
use crate::look::Look;
use crate::text::{cut::cut_text, row::Row};
use crate::theme::Role;
use agent::{SlashCommand, label, one_line};
use ratatui_core::text::{Line, Span};
use std::sync::Arc;

/// What can be completed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sources {
    /// The slash commands.
    pub commands: Vec<SlashCommand>,
    /// The files of the project, relative to it; of equal matches the earlier is listed first.
    pub files: Arc<Vec<String>>,
    /// Whether files are still being listed.
    pub loading: bool,
}

/// The completions of what is being typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Completions {
    /// Where the text that is completed begins: the offset of its `/` or `@`.
    start: usize,
    kind: Kind,
    /// Indices into the commands or files.
    found: Vec<usize>,
    selected: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Command,
    File,
}

/// What was completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Completed {
    /// A command that takes no argument.
    Command,
    /// A command that takes an argument, or a file.
    Begun,
}

/// The column of descriptions, in cells.
const NAME_WIDTH: usize = 24;
/// Characters of a description.
const DESCRIPTION_CHARS: usize = 300;

impl Completions {
    /// Returns the completions of the word before the cursor, if there are any.
    pub(super) fn of(draft: &Draft, sources: &Sources) -> Option<Self> {
        let (start, word) = word(draft)?;
        let first = draft.text()[..start].trim().is_empty();
        let (kind, mut found) = if let Some(query) = word.strip_prefix('/') {
            let names: Vec<_> = sources.commands.iter().map(|command| command.name.as_ref()).collect();
            let begins = |at: &usize| !query.is_empty() && names[*at].starts_with(query);
            // In the middle of a message, `/` mostly begins a path.
            let found = if first { ranked(query, &names) } else { (0..names.len()).filter(begins).collect() };
            (Kind::Command, found)
        } else {
            (Kind::File, ranked(word.strip_prefix('@')?, &sources.files))
        };
        found.truncate(COMPLETIONS);
        let open = !found.is_empty() || (kind == Kind::File && sources.loading);
        open.then_some(Self { start, kind, found, selected: 0 })
    }

    /// Returns where the text that is completed begins.
    pub(super) fn start(&self) -> usize {
        self.start
    }

    /// Selects the next or the previous one, around the ends.
    pub(super) fn select(&mut self, forward: bool) {
        let many = self.found.len().max(1);
        self.selected = if forward { (self.selected + 1) % many } else { (self.selected + many - 1) % many };
    }

    /// Returns whether the selected command is typed completely.
    pub(super) fn is_typed(&self, draft: &Draft, sources: &Sources) -> bool {
        let word = &draft.text()[self.start..draft.cursor()];
        self.command(sources).is_some_and(|command| word.strip_prefix('/') == Some(&command.name))
    }

    /// Puts the selected completion into a draft.
    pub(super) fn complete(&self, draft: &mut Draft, sources: &Sources) -> Option<Completed> {
        let range = self.start..draft.cursor();
        match self.kind {
            Kind::Command => {
                let command = self.command(sources)?;
                draft.replace(range, Fragment::text(format!("/{} ", command.name)));
                Some(if command.hint.is_some() { Completed::Begun } else { Completed::Command })
            }
            Kind::File => {
                let path = sources.files.get(*self.found.get(self.selected)?)?;
                draft.replace(range, Fragment::token(Token::File(path.as_str().into())));
                draft.insert(Fragment::text(" "));
                Some(Completed::Begun)
            }
        }
    }

    /// Returns the list around the selected row.
    pub(super) fn rows(&self, sources: &Sources, look: &Look, most: usize) -> Vec<Row> {
        let mut rows = Vec::new();
        let from = (self.selected + 1).saturating_sub(most);
        for (at, index) in self.found.iter().enumerate().skip(from).take(most) {
            let (name, detail) = self.described(sources, *index);
            rows.push(row(&name, &detail, at == self.selected, look));
        }
        if self.kind == Kind::File && sources.loading && rows.len() < most {
            rows.push(
                Span::styled(cut_text("  reading files…", look.width, look.measure), look.style(Role::Dim))
                    .into(),
            );
        }
        rows
    }

    fn command<'a>(&self, sources: &'a Sources) -> Option<&'a SlashCommand> {
        let index = self.found.get(self.selected).filter(|_| self.kind == Kind::Command)?;
        sources.commands.get(*index)
    }

    fn described(&self, sources: &Sources, index: usize) -> (String, String) {
        match self.kind {
            Kind::File => (one_line(sources.files.get(index).map_or("", String::as_str)), String::new()),
            Kind::Command => match sources.commands.get(index) {
                None => (String::new(), String::new()),
                Some(command) => {
                    let hint = command.hint.as_deref().map(|hint| format!(" {}", one_line(hint)));
                    let name = format!("/{}{}", one_line(&command.name), hint.unwrap_or_default());
                    (name, label(&command.description, DESCRIPTION_CHARS))
                }
            },
        }
    }
}

/// Returns the hint for the argument of the command that a draft consists of.
pub(super) fn argument_hint(draft: &Draft, sources: &Sources) -> Option<String> {
    let name = draft.text().strip_prefix('/')?.strip_suffix(' ')?;
    let command = sources.commands.iter().find(|command| command.name == name)?;
    command.hint.as_deref().map(one_line)
}

/// Returns the word before the cursor that may be completed, with its offset.
fn word(draft: &Draft) -> Option<(usize, &str)> {
    let end = draft.cursor();
    let start = draft.text()[..end].rfind(char::is_whitespace).map_or(0, |space| draft.next(space));
    let start = draft.last_token_before(end).map_or(start, |token_end| start.max(token_end));
    let word = &draft.text()[start..end];
    let command_line = draft.text().starts_with('!');
    (!command_line && word.starts_with(['/', '@'])).then_some((start, word))
}

fn row(name: &str, detail: &str, selected: bool, look: &Look) -> Row {
    let marker = if selected { "▸ " } else { "  " };
    let role = if selected { Role::Selected } else { Role::Text };
    let name = cut_text(name, look.width.saturating_sub(2), look.measure);
    let named = look.measure.text(&name);
    let gap = NAME_WIDTH.saturating_sub(named).max(1);
    let detail = cut_text(detail, look.width.saturating_sub(2 + named + gap), look.measure);
    let mut spans = vec![
        Span::styled(cut_text(marker, look.width, look.measure), look.style(Role::Text)),
        Span::styled(name, look.style(role)),
    ];
    if !detail.is_empty() {
        spans.push(Span::styled(" ".repeat(gap), look.style(Role::Text)));
        spans.push(Span::styled(detail, look.style(Role::Dim)));
    }
    Row::new(Line::from(spans))
}
