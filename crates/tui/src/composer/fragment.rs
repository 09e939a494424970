//! A stretch of a message: text, and tokens at places of it.

use super::token::Token;
use std::collections::BTreeMap;
use std::ops::Range;

/// Stands for a token in the text. The same character without a token at its place is text.
pub(super) const PLACEHOLDER: &str = "\u{fffc}";

/// A stretch of a message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fragment {
    /// The text, with [`PLACEHOLDER`] for each token.
    pub(super) text: String,
    /// The tokens by the byte offsets of their placeholders.
    pub(super) tokens: BTreeMap<usize, Token>,
}

/// A part of what a message consists of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Text that was typed or inserted.
    Text(String),
    /// A token.
    Token(Token),
}

impl Fragment {
    /// Creates a stretch without tokens.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), tokens: BTreeMap::new() }
    }

    /// Creates a stretch of one token.
    pub fn token(token: Token) -> Self {
        Self { text: PLACEHOLDER.to_owned(), tokens: BTreeMap::from([(0, token)]) }
    }

    /// Creates a stretch from its parts.
    pub fn from_parts(parts: impl IntoIterator<Item = Part>) -> Self {
        let mut all = Self::default();
        for part in parts {
            let end = all.text.len();
            all.replace(
                end..end,
                match part {
                    Part::Text(text) => Self::text(text),
                    Part::Token(token) => Self::token(token),
                },
            );
        }
        all
    }

    /// Returns its parts in order: no text is empty, and no two texts follow each other.
    pub fn parts(&self) -> Vec<Part> {
        let mut parts = Vec::new();
        let mut from = 0;
        for (at, token) in &self.tokens {
            if from < *at {
                parts.push(Part::Text(self.text[from..*at].to_owned()));
            }
            parts.push(Part::Token(token.clone()));
            from = at + PLACEHOLDER.len();
        }
        if from < self.text.len() {
            parts.push(Part::Text(self.text[from..].to_owned()));
        }
        parts
    }

    /// Returns whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Returns its size in memory, without the shared contents of tokens, in bytes.
    pub(super) fn size(&self) -> usize {
        self.text.len() + self.tokens.len() * size_of::<Token>()
    }

    /// Returns a copy of a range, whose ends are not inside a token.
    pub(super) fn slice(&self, range: Range<usize>) -> Self {
        let tokens = self.tokens.range(range.clone()).map(|(at, token)| (at - range.start, token.clone()));
        Self { text: self.text[range.clone()].to_owned(), tokens: tokens.collect() }
    }

    /// Replaces a range, whose ends are not inside a token.
    pub(super) fn replace(&mut self, range: Range<usize>, by: Self) {
        let tail = self.tokens.split_off(&range.start);
        let kept = tail.into_iter().filter(|(at, _)| *at >= range.end);
        let moved: Vec<_> =
            kept.map(|(at, token)| (at - range.end + range.start + by.text.len(), token)).collect();
        self.tokens.extend(by.tokens.into_iter().map(|(at, token)| (at + range.start, token)));
        self.tokens.extend(moved);
        self.text.replace_range(range, &by.text);
    }
}
