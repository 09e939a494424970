//! Views of a text for comparison: without the differences that a comparison ignores, and with a
//! mapping back to positions in the original.

use std::ops::Range;
use unicode_normalization::{UnicodeNormalization as _, char::is_combining_mark};

/// The differences that a comparison ignores; each variant includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fold {
    /// `\r\n` versus `\n`.
    LineEnds,
    /// Trailing blanks.
    TrailingBlanks,
    /// The choice between look-alike characters: quotes, dashes, blanks, three dots, letters with
    /// marks in another composition.
    LookAlikes,
}

/// A text under a [`Fold`]. Every character of the view stands for one or more characters of the
/// text.
#[derive(Debug)]
pub(super) struct View {
    /// The text to compare.
    pub(super) text: String,
    /// Pairs of a byte position in the view and the offset, from there on, to the position in the
    /// text.
    shifts: Vec<(usize, usize)>,
    /// The end, in the text, of the view's last character.
    end: usize,
}

impl View {
    /// Computes the view of a text.
    pub(super) fn of(text: &str, fold: Fold) -> Self {
        let mut view = Self { text: String::with_capacity(text.len()), shifts: Vec::new(), end: 0 };
        let mut at = 0;
        while let Some(unit) = unit(&text[at..], fold) {
            let shift = at - view.text.len();
            if shift != view.shifts.last().map_or(0, |(_, last)| *last) {
                view.shifts.push((view.text.len(), shift));
            }
            view.text.push(unit.is);
            at += unit.bytes;
        }
        view.end = at;
        view
    }

    /// Maps a byte position in the view to the start of its character in the text; the view's end
    /// maps to the end of the last character.
    pub(super) fn original(&self, at: usize) -> usize {
        if at == self.text.len() {
            return self.end;
        }
        let passed = self.shifts.partition_point(|&(from, _)| from <= at);
        at + if passed == 0 { 0 } else { self.shifts[passed - 1].1 }
    }

    /// Maps a range of the view to a range of the text.
    pub(super) fn range(&self, part: Range<usize>) -> Range<usize> {
        self.original(part.start)..self.original(part.end)
    }
}

/// A character of a view, and the number of bytes of the text that it stands for.
struct Unit {
    is: char,
    bytes: usize,
}

fn unit(text: &str, fold: Fold) -> Option<Unit> {
    let first = text.chars().next()?;
    let whole = |is, bytes| Some(Unit { is, bytes });
    if first == '\n' {
        return whole('\n', 1);
    }
    if text.starts_with("\r\n") {
        return whole('\n', 2);
    }
    if fold >= Fold::TrailingBlanks && is_blank(first, fold) {
        let passed = |next| is_blank(next, fold) || fold == Fold::LookAlikes && is_invisible(next);
        let rest = text.trim_start_matches(passed);
        let blanks = text.len() - rest.len();
        match () {
            () if rest.starts_with('\n') => return whole('\n', blanks + 1),
            () if rest.starts_with("\r\n") => return whole('\n', blanks + 2),
            () if rest.is_empty() => return None,
            () => {}
        }
    }
    if fold < Fold::LookAlikes {
        return whole(first, first.len_utf8());
    }
    if is_invisible(first) {
        let rest = text.trim_start_matches(is_invisible);
        let passed = text.len() - rest.len();
        return unit(rest, fold).map(|next| Unit { bytes: next.bytes + passed, ..next });
    }
    if text.starts_with("...") {
        return whole('…', 3);
    }
    if let Some(plain) = plain(first) {
        return whole(plain, first.len_utf8());
    }
    // A letter and its marks may be one character or several.
    let marks = text[first.len_utf8()..].chars().take_while(|c| is_combining_mark(*c));
    let bytes = first.len_utf8() + marks.map(char::len_utf8).sum::<usize>();
    let mut composed = text[..bytes].nfc();
    match (composed.next(), composed.next()) {
        (Some(composed), None) => whole(composed, bytes),
        _ => whole(first, first.len_utf8()),
    }
}

fn is_blank(char: char, fold: Fold) -> bool {
    matches!(char, ' ' | '\t') || fold == Fold::LookAlikes && plain(char) == Some(' ')
}

/// Whether a character is invisible.
fn is_invisible(char: char) -> bool {
    matches!(char, '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}' | '\u{ad}')
}

/// Returns the ASCII look-alike of a character; `…`, which stands for three dots, is handled
/// elsewhere.
pub(super) fn plain(char: char) -> Option<char> {
    Some(match char {
        '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        '‘' | '’' | '‚' | '‛' | '′' | '´' => '\'',
        '“' | '”' | '„' | '‟' | '″' => '"',
        '‐' | '‑' | '‒' | '–' | '—' | '―' | '−' => '-',
        // The fullwidth forms of ASCII, in the same order.
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(char) - 0xff01 + 0x21)?,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn passes_over_what_the_fold_says() {
        for (text, fold, expected) in [
            ("a \r\nb\t\n", Fold::LineEnds, "a \nb\t\n"),
            ("a \r\nb\t\n  c  ", Fold::TrailingBlanks, "a\nb\n  c"),
            ("a\u{a0}“b”…\u{a0}\n", Fold::TrailingBlanks, "a\u{a0}“b”…\u{a0}\n"),
            ("a\u{a0}“b”…\u{a0}\n", Fold::LookAlikes, "a \"b\"…\n"),
            ("a...b — c\u{200b}d\u{200b}", Fold::LookAlikes, "a…b - cd"),
            ("ｆ（ｘ）；", Fold::LookAlikes, "f(x);"),
            ("\r a", Fold::LookAlikes, "\r a"),
            ("cafe\u{301} ", Fold::LookAlikes, "caf\u{e9}"),
        ] {
            assert_eq!(View::of(text, fold).text, expected, "{text:?} {fold:?}");
        }
    }

    #[test]
    fn knows_the_way_back() {
        let text = "x  \r\n“y”...\u{200b}z ";
        let view = View::of(text, Fold::LookAlikes);
        assert_eq!(view.text, "x\n\"y\"…z");
        let part = |wanted: &str| {
            let from = view.text.find(wanted).unwrap();
            &text[view.range(from..from + wanted.len())]
        };
        for (wanted, expected) in [
            ("x", "x"),
            ("\n", "  \r\n"),
            ("\"y\"", "“y”"),
            ("\"y\"…", "“y”..."),
            ("z", "\u{200b}z"),
            ("y\"…z", "y”...\u{200b}z"),
            ("", ""),
        ] {
            assert_eq!(part(wanted), expected, "{wanted:?}");
        }
    }

    proptest! {
        #[test]
        fn every_character_stands_for_its_own_part(text in "[a “”\u{a0}.\r\n\t\u{200b}—]{0,40}") {
            for fold in [Fold::LineEnds, Fold::TrailingBlanks, Fold::LookAlikes] {
                let view = View::of(&text, fold);
                let mut end = 0;
                for (at, char) in view.text.char_indices() {
                    let range = view.range(at..at + char.len_utf8());
                    prop_assert_eq!(range.start, end, "{:?} {:?}", fold, text);
                    prop_assert_eq!(view.original(at), end);
                    end = range.end;
                }
            }
        }
    }
}
