//! Highlights code, on a thread of its own.
//!
//! The definitions of languages are loaded with the first code, and their expressions are compiled
//! when they are first used, which can take many times longer than highlighting. So nothing here
//! waits: code is plain until its styles are known. The work on a block is limited by its bytes.

mod painter;
mod roles;
mod shared;
#[cfg(test)]
mod tests;

use crate::theme::Role;
use shared::{Job, Shared};
use std::{
    fmt,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::Arc,
};

/// The roles of a line's parts with their bytes, in order. What is left is ordinary text.
pub type Styles = Vec<(Role, usize)>;

/// Highlights code. Cloning is cheap.
#[derive(Clone, Default)]
pub struct Highlighter {
    /// `None` highlights nothing.
    shared: Option<Arc<Shared>>,
}

/// A block of code that is still being written.
#[derive(Debug, Clone)]
pub struct Block {
    highlighter: Highlighter,
    id: u64,
    /// Lines pushed so far.
    lines: usize,
}

impl Highlighter {
    /// Creates a highlighter that highlights nothing.
    pub fn off() -> Self {
        Self::default()
    }

    /// Creates a highlighter that works in the calling thread, when it is called.
    pub fn in_place() -> Self {
        Self { shared: Some(Arc::new(Shared::in_place())) }
    }

    /// Creates a highlighter with a thread, which begins with the first code and ends with the last
    /// clone. It calls `wake` after each piece of work.
    pub fn threaded(wake: impl Fn() + Send + Sync + 'static) -> Self {
        Self { shared: Some(Arc::new(Shared::threaded(Arc::new(wake)))) }
    }

    /// Begins a block of code. `language` is the info string of its fence.
    pub fn block(&self, language: &str) -> Block {
        let id = self.shared.as_ref().map_or(0, |shared| shared.begin(token(language)));
        Block { highlighter: self.clone(), id, lines: 0 }
    }

    /// Returns the styles of the lines of a whole block, or `None` while they are not known. Lines
    /// beyond the end of what is returned are plain.
    pub fn text<'a>(&self, language: &str, lines: impl Iterator<Item = &'a str>) -> Option<Arc<Vec<Styles>>> {
        let Some(shared) = &self.shared else { return Some(Arc::default()) };
        let (mut text, mut hasher) = (Vec::new(), DefaultHasher::new());
        let mut left = painter::block_bytes();
        for line in lines {
            let Some(rest) = usize::checked_sub(left, line.len() + 1) else { break };
            left = rest;
            line.hash(&mut hasher);
            text.push(line.to_owned());
        }
        token(language).hash(&mut hasher);
        shared.text(hasher.finish(), || Job::Text {
            key: hasher.finish(),
            language: token(language).to_owned(),
            lines: text,
        })
    }

    /// Returns a number that changes whenever styles of texts have become known.
    pub fn generation(&self) -> u64 {
        self.shared.as_ref().map_or(0, |shared| shared.generation())
    }
}

impl fmt::Debug for Highlighter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Highlighter").field("on", &self.shared.is_some()).finish()
    }
}

impl Block {
    /// Adds a line, without its line break.
    pub fn push(&mut self, line: &str) {
        if let Some(shared) = &self.highlighter.shared {
            shared.push(self.id, line);
        }
        self.lines += 1;
    }

    /// Returns the styles of a line that was pushed, counted from 0; `None` while they are not
    /// known.
    pub fn styles(&self, line: usize) -> Option<Styles> {
        match &self.highlighter.shared {
            Some(shared) => shared.styles(self.id, line),
            None => Some(Styles::new()),
        }
    }

    /// Returns how many lines were pushed.
    pub fn lines(&self) -> usize {
        self.lines
    }

    /// Ends the block: what is not highlighted yet stays plain.
    pub fn give_up(&self) {
        if let Some(shared) = &self.highlighter.shared {
            shared.end(self.id);
        }
    }
}

/// Returns the language of an info string: `rust` of `rust,ignore` and of `{.rust}`.
fn token(info: &str) -> &str {
    let info = info.trim().trim_start_matches(['{', '.']);
    info.split([' ', '\t', ',', '}', '{', ':']).next().unwrap_or("")
}
