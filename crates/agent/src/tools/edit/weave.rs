//! Inserts a new text in place of an old one such that what both have in common stays as it is in
//! the file.

use super::{
    is_crlf,
    view::{Fold, View, plain},
    with_line_ends,
};
use imara_diff::{Algorithm, Diff, InternedInput, TokenSource};
use std::{collections::HashMap, ops::Range};

/// An old text found in a file.
pub(super) struct Woven<'a> {
    /// The file's text.
    pub(super) file: &'a str,
    /// The view of the file's text in which the old text was found.
    pub(super) view: &'a View,
    pub(super) fold: Fold,
    /// The position of the old text in the view.
    pub(super) at: usize,
    /// The old text as given; its view occurs at `at`.
    pub(super) old: &'a str,
}

impl Woven<'_> {
    /// Returns the byte range of the old text in the file, and its replacement.
    pub(super) fn put(&self, new: &str) -> (Range<usize>, String) {
        let old_view = View::of(self.old, self.fold);
        let place = self.view.range(self.at..self.at + old_view.text.len());
        let crlf = match self.file[place.clone()].contains('\n') {
            true => self.file[place.clone()].contains("\r\n"),
            false => is_crlf(self.file),
        };
        let spoiled = Spoiled::of(self, &old_view);
        let new_view = View::of(new, self.fold);
        let line_end = if crlf { "\r\n" } else { "\n" };
        let mut text = String::new();
        let file = |part: Range<usize>| &self.file[self.view.range(self.at + part.start..self.at + part.end)];
        // Unchanged lines keep their line endings; in changed lines, unchanged words are kept.
        for (old_lines, new_lines) in parts(&old_view.text, &new_view.text, |text| text) {
            let Some(new_lines) = new_lines else {
                text.push_str(file(old_lines));
                continue;
            };
            let (from, at) = (old_lines.start, new_lines.start);
            for (old_words, new_words) in parts(&old_view.text[old_lines], &new_view.text[new_lines], Words) {
                match new_words {
                    None => {
                        let words = from + old_words.start..from + old_words.end;
                        let mut start = words.start;
                        for (end, _) in old_view.text[words.clone()].match_indices('\n') {
                            text.push_str(file(start..words.start + end));
                            text.push_str(line_end);
                            start = words.start + end + 1;
                        }
                        text.push_str(file(start..words.end));
                    }
                    Some(words) => {
                        let words = at + words.start..at + words.end;
                        let fresh = match self.fold {
                            Fold::LineEnds => new_view.text[words].to_owned(),
                            _ => spoiled.mended(&new_view, new, words),
                        };
                        text.push_str(&with_line_ends(&fresh, crlf));
                    }
                }
            }
        }
        // Trailing blanks of the new text that do not end one of its lines.
        if !ends_in_blanks(self.old) {
            text.push_str(&new[new_view.original(new_view.text.len())..]);
        }
        (place, text)
    }
}

/// Whether a text's last line, which has no line ending, has trailing blanks.
pub(super) fn ends_in_blanks(text: &str) -> bool {
    text.ends_with([' ', '\t', '\u{a0}'])
}

/// The differences between an old text and the file; the new text is adjusted to the file in the
/// same respects.
struct Spoiled<'a> {
    file: &'a str,
    /// Whether lines end in blanks that the file does not have.
    blanks: bool,
    /// Characters, and the file's characters in their place.
    instead: HashMap<String, String>,
    /// Whether typographic characters stand for ASCII characters of the file.
    typeset: bool,
}

impl<'a> Spoiled<'a> {
    fn of(woven: &Woven<'a>, old_view: &View) -> Self {
        let mut spoiled = Self { file: woven.file, blanks: false, instead: HashMap::new(), typeset: false };
        for (at, char) in old_view.text.char_indices() {
            let part = at..at + char.len_utf8();
            let given = &woven.old[old_view.range(part.clone())];
            let there = &woven.file[woven.view.range(woven.at + part.start..woven.at + part.end)];
            if char == '\n' {
                spoiled.blanks |= is_bare(there) && !is_bare(given);
            } else if woven.fold == Fold::LookAlikes {
                spoiled.typeset |= !given.is_ascii() && there.is_ascii();
                // A character with several counterparts is not replaced elsewhere.
                let instead = spoiled.instead.entry(given.to_owned()).or_insert_with(|| there.to_owned());
                if *instead != there {
                    given.clone_into(instead);
                }
            }
        }
        spoiled
    }

    /// Returns a part of the new text's view as it is to be written.
    fn mended(&self, view: &View, new: &str, part: Range<usize>) -> String {
        let mut out = String::new();
        for (at, char) in view.text[part.clone()].char_indices() {
            let at = part.start + at;
            let given = &new[view.range(at..at + char.len_utf8())];
            match self.instead.get(given) {
                _ if char == '\n' && self.blanks => out.push('\n'),
                Some(there) => out.push_str(there),
                None if self.typeset && given != "..." && !self.file.contains(given) => {
                    out.push_str(
                        &given
                            .chars()
                            .map(|char| match char {
                                '…' => "...".to_owned(),
                                char => plain(char).unwrap_or(char).to_string(),
                            })
                            .collect::<String>(),
                    );
                }
                None => out.push_str(given),
            }
        }
        out
    }
}

/// Whether a line ending has no blanks before it.
fn is_bare(line_end: &str) -> bool {
    matches!(line_end, "\n" | "\r\n")
}

/// Returns the parts of two texts in order: a common part as its range in the old text, a changed
/// part as its ranges in the old and the new text.
fn parts<'a, S>(
    old: &'a str,
    new: &'a str,
    source: impl Fn(&'a str) -> S,
) -> Vec<(Range<usize>, Option<Range<usize>>)>
where
    S: TokenSource<Token = &'a str>,
{
    let input = InternedInput::new(source(old), source(new));
    let (olds, news) = (offsets(source(old)), offsets(source(new)));
    let mut parts = Vec::new();
    let mut kept = 0;
    for hunk in Diff::compute(Algorithm::Histogram, &input).hunks() {
        parts.push((olds[kept]..olds[hunk.before.start as usize], None));
        let before = olds[hunk.before.start as usize]..olds[hunk.before.end as usize];
        let after = news[hunk.after.start as usize]..news[hunk.after.end as usize];
        parts.push((before, Some(after)));
        kept = hunk.before.end as usize;
    }
    parts.push((olds[kept]..old.len(), None));
    parts
}

/// Returns the start of each token, and the end of the last one.
fn offsets<'a>(source: impl TokenSource<Token = &'a str>) -> Vec<usize> {
    let mut at = 0;
    let ends = source.tokenize().map(|token: &str| {
        at += token.len();
        at
    });
    let mut offsets = vec![0];
    offsets.extend(ends.collect::<Vec<_>>());
    offsets
}

/// Splits a text into words, runs of blanks, and single other characters.
#[derive(Clone, Copy)]
struct Words<'a>(&'a str);

impl<'a> Iterator for Words<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let first = self.0.chars().next()?;
        let kind = kind(first);
        let end = match kind {
            Kind::Other => first.len_utf8(),
            kind => self.0.find(|char| self::kind(char) != kind).unwrap_or(self.0.len()),
        };
        let (word, rest) = self.0.split_at(end);
        self.0 = rest;
        Some(word)
    }
}

impl<'a> TokenSource for Words<'a> {
    type Token = &'a str;
    type Tokenizer = Self;

    fn tokenize(&self) -> Self {
        *self
    }

    fn estimate_tokens(&self) -> u32 {
        (self.0.len() / 3) as u32
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Word,
    Blank,
    Other,
}

fn kind(char: char) -> Kind {
    match char {
        ' ' | '\t' => Kind::Blank,
        '_' => Kind::Word,
        char if char.is_alphanumeric() => Kind::Word,
        _ => Kind::Other,
    }
}
