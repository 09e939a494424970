//! A message being edited: a fragment with a cursor that moves by grapheme clusters and tokens.

use super::fragment::{Fragment, PLACEHOLDER};
use super::token::Token;
use std::ops::Range;
use unicode_segmentation::{GraphemeCursor, GraphemeIncomplete};

/// A message being edited.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Draft {
    content: Fragment,
    /// The byte offset of the cursor; at the beginning of a cluster or a token, or at the end.
    cursor: usize,
}

impl Draft {
    /// Creates a draft with the cursor at its end.
    pub fn new(content: Fragment) -> Self {
        let cursor = content.text.len();
        Self { content, cursor }
    }

    /// Returns its content.
    pub fn content(&self) -> &Fragment {
        &self.content
    }

    /// Returns its text with placeholders for tokens.
    pub(super) fn text(&self) -> &str {
        &self.content.text
    }

    /// Returns the byte offset of the cursor.
    pub fn cursor(&self) -> usize {
        self.cursor
    }

    /// Returns whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.content.is_empty()
    }

    /// Returns the token that begins at an offset.
    pub fn token_at(&self, at: usize) -> Option<&Token> {
        self.content.tokens.get(&at)
    }

    /// Returns the token that ends at an offset, and where it begins.
    pub fn token_before(&self, at: usize) -> Option<(usize, &Token)> {
        let start = at.checked_sub(PLACEHOLDER.len())?;
        self.content.tokens.get(&start).map(|token| (start, token))
    }

    /// Returns where the last token before an offset ends.
    pub(super) fn last_token_before(&self, at: usize) -> Option<usize> {
        self.content.tokens.range(..at).next_back().map(|(start, _)| start + PLACEHOLDER.len())
    }

    /// Moves the cursor to an offset, or to the end of the cluster or token that it is inside of.
    pub fn move_to(&mut self, at: usize) {
        self.cursor = self.boundary(at);
    }

    /// Replaces a range and puts the cursor behind the replacement.
    pub(super) fn replace(&mut self, range: Range<usize>, by: Fragment) {
        let range = self.boundary(range.start)..self.boundary(range.end);
        let end = range.start + by.text.len();
        self.content.replace(range, by);
        // The neighbours may have joined to one cluster.
        self.move_to(end);
    }

    /// Inserts at the cursor.
    pub fn insert(&mut self, what: Fragment) {
        self.replace(self.cursor..self.cursor, what);
    }

    /// Removes a range and returns it.
    pub(super) fn cut(&mut self, range: Range<usize>) -> Fragment {
        let range = self.boundary(range.start)..self.boundary(range.end);
        let cut = self.content.slice(range.clone());
        self.replace(range, Fragment::default());
        cut
    }

    /// Returns the offset behind the cluster or token at an offset.
    pub fn next(&self, at: usize) -> usize {
        if self.token_at(at).is_some() {
            return at + PLACEHOLDER.len();
        }
        let run = self.run(at);
        let text = &self.content.text[run.clone()];
        let mut cursor = GraphemeCursor::new(at - run.start, text.len(), true);
        match cursor.next_boundary(text, 0) {
            Ok(Some(next)) => run.start + next,
            Ok(None) | Err(_) => run.end,
        }
    }

    /// Returns the offset of the cluster or token before an offset.
    pub fn previous(&self, at: usize) -> usize {
        if let Some((start, _)) = self.token_before(at) {
            return start;
        }
        let run = self.run(at);
        let text = &self.content.text[run.clone()];
        let mut cursor = GraphemeCursor::new(at - run.start, text.len(), true);
        match cursor.prev_boundary(text, 0) {
            Ok(Some(previous)) => run.start + previous,
            Ok(None) | Err(_) => run.start,
        }
    }

    /// Returns the beginning of the word before an offset. A token is a word.
    pub fn word_before(&self, at: usize) -> usize {
        let mut at = self.skip_back(at, |draft, from| !draft.is_word(from));
        if let Some((start, _)) = self.token_before(at) {
            return start;
        }
        at = self.skip_back(at, |draft, from| draft.is_word(from) && draft.token_at(from).is_none());
        at
    }

    /// Returns the end of the word after an offset. A token is a word.
    pub fn word_after(&self, at: usize) -> usize {
        let mut at = self.skip(at, |draft, from| !draft.is_word(from));
        if self.token_at(at).is_some() {
            return self.next(at);
        }
        at = self.skip(at, |draft, from| draft.is_word(from) && draft.token_at(from).is_none());
        at
    }

    /// Returns the beginning of the word before an offset, where only whitespace separates words.
    pub fn long_word_before(&self, at: usize) -> usize {
        let at = self.skip_back(at, Self::is_space);
        self.skip_back(at, |draft, from| !draft.is_space(from))
    }

    /// Returns the beginning of the line that contains an offset.
    pub fn line_start(&self, at: usize) -> usize {
        self.content.text[..at].rfind('\n').map_or(0, |newline| newline + 1)
    }

    /// Returns the end of the line that contains an offset, before its line break.
    pub fn line_end(&self, at: usize) -> usize {
        self.content.text[at..].find('\n').map_or(self.content.text.len(), |newline| at + newline)
    }

    fn skip(&self, mut at: usize, over: impl Fn(&Self, usize) -> bool) -> usize {
        while at < self.content.text.len() && over(self, at) {
            at = self.next(at);
        }
        at
    }

    fn skip_back(&self, mut at: usize, over: impl Fn(&Self, usize) -> bool) -> usize {
        while at > 0 {
            let before = self.previous(at);
            if !over(self, before) {
                break;
            }
            at = before;
        }
        at
    }

    fn is_word(&self, at: usize) -> bool {
        let first = self.content.text[at..].chars().next();
        self.token_at(at).is_some() || first.is_some_and(|c| c.is_alphanumeric() || c == '_')
    }

    fn is_space(&self, at: usize) -> bool {
        let first = self.content.text[at..].chars().next();
        self.token_at(at).is_none() && first.is_some_and(char::is_whitespace)
    }

    /// Returns the text between two tokens that an offset is in or at the edge of. Clusters never
    /// reach over a token.
    fn run(&self, at: usize) -> Range<usize> {
        let tokens = &self.content.tokens;
        let start = tokens.range(..at).next_back().map_or(0, |(before, _)| before + PLACEHOLDER.len());
        let end = tokens.range(at..).next().map_or(self.content.text.len(), |(after, _)| *after);
        start..end
    }

    /// Returns the offset itself if a cluster or token begins or ends there, else the end of the
    /// cluster or token around it.
    fn boundary(&self, at: usize) -> usize {
        let text = &self.content.text;
        let at = agent::ceil_char_boundary(text, at.min(text.len()));
        let run = self.run(at);
        let mut cursor = GraphemeCursor::new(at - run.start, run.len(), true);
        match cursor.is_boundary(&text[run], 0) {
            Ok(true) | Err(GraphemeIncomplete::InvalidOffset) => at,
            Ok(false) | Err(_) => self.next(at),
        }
    }
}
