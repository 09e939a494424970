//! A text of one line that the user types: a query, a reason, an answer.

pub(crate) mod glyph;

use crate::input::{Key, KeyCode};
use crate::limits::FIELD_CHARS;
use crate::text::measure::Measure;
use unicode_segmentation::UnicodeSegmentation;

/// A text of one line with a cursor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Field {
    text: String,
    /// A byte offset between two clusters.
    cursor: usize,
}

impl Field {
    /// Creates a field with a text and the cursor at its end.
    pub fn new(text: impl Into<String>) -> Self {
        let mut field = Self::default();
        field.insert(&text.into());
        field
    }

    /// Returns its text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether there is no text.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Takes a key; returns whether it is one that edits the field or moves in it.
    pub fn key(&mut self, key: Key) -> bool {
        match (key.code, key.ctrl, key.alt) {
            (KeyCode::Char(c), false, false) => self.insert(c.encode_utf8(&mut [0; 4])),
            (KeyCode::Backspace, false, false) | (KeyCode::Char('h'), true, _) => {
                self.cut(self.previous(), self.cursor)
            }
            (KeyCode::Delete, ..) | (KeyCode::Char('d'), true, _) => self.cut(self.cursor, self.next()),
            (KeyCode::Left, ..) | (KeyCode::Char('b'), true, _) => self.cursor = self.previous(),
            (KeyCode::Right, ..) | (KeyCode::Char('f'), true, _) => self.cursor = self.next(),
            (KeyCode::Home, ..) | (KeyCode::Char('a'), true, _) => self.cursor = 0,
            (KeyCode::End, ..) | (KeyCode::Char('e'), true, _) => self.cursor = self.text.len(),
            (KeyCode::Char('u'), true, _) => self.cut(0, self.cursor),
            (KeyCode::Char('k'), true, _) => self.cut(self.cursor, self.text.len()),
            (KeyCode::Char('w'), true, _) | (KeyCode::Backspace, ..) => self.cut(self.word(), self.cursor),
            _ => return false,
        }
        true
    }

    /// Inserts a text at the cursor; line breaks become spaces. What is beyond the limit of
    /// [`FIELD_CHARS`] is left out.
    pub fn insert(&mut self, text: &str) {
        let room = FIELD_CHARS.saturating_sub(self.text.chars().count());
        let line: String = text.replace("\r\n", " ").replace(['\n', '\r'], " ").chars().take(room).collect();
        self.text.insert_str(self.cursor, &line);
        self.cursor = self.boundary(self.cursor + line.len());
    }

    /// Returns the part of the text around the cursor that fits into a width in cells, and the
    /// cursor's column in it.
    pub fn shown(&self, width: usize, measure: Measure) -> (String, usize) {
        let width = width.max(1);
        let glyphs: Vec<_> = self
            .text
            .grapheme_indices(true)
            .map(|(at, cluster)| (at, glyph::glyph(cluster, 0, width, measure)))
            .collect();
        let before: usize =
            glyphs.iter().filter(|(at, _)| *at < self.cursor).map(|(_, glyph)| glyph.width).sum();
        // The cursor needs a cell of its own.
        let mut skip = (before + 1).saturating_sub(width);
        let (mut out, mut column, mut used) = (String::new(), before, 0);
        for (_, glyph) in &glyphs {
            if skip > 0 {
                skip = skip.saturating_sub(glyph.width);
                column -= glyph.width;
                continue;
            }
            if used + glyph.width > width {
                break;
            }
            used += glyph.width;
            out.push_str(&glyph.text);
        }
        (out, column)
    }

    fn cut(&mut self, from: usize, to: usize) {
        self.text.replace_range(from..to, "");
        self.cursor = self.boundary(from);
    }

    fn previous(&self) -> usize {
        self.text[..self.cursor].grapheme_indices(true).next_back().map_or(0, |(at, _)| at)
    }

    fn next(&self) -> usize {
        self.text[self.cursor..]
            .graphemes(true)
            .next()
            .map_or(self.cursor, |cluster| self.cursor + cluster.len())
    }

    fn word(&self) -> usize {
        let head = self.text[..self.cursor].trim_end();
        head.rfind(char::is_whitespace)
            .map_or(0, |at| at + head[at..].chars().next().map_or(0, char::len_utf8))
    }

    /// Returns the end of the cluster around an offset, or the offset itself between two clusters.
    fn boundary(&self, at: usize) -> usize {
        let mut starts = self.text.grapheme_indices(true).map(|(start, _)| start);
        starts.find(|start| *start >= at).unwrap_or(self.text.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::spelling::Chord;
    use proptest::prelude::*;

    fn press(field: &mut Field, keys: &str) {
        for key in keys.parse::<Chord>().unwrap().keys() {
            field.key(*key);
        }
    }

    #[test]
    fn keys_edit_by_cluster_and_word() {
        let mut field = Field::new("grün e\u{301}");
        press(&mut field, "backspace");
        assert_eq!(field.text(), "grün ");
        press(&mut field, "ctrl+w");
        assert_eq!(field.text(), "");
        field.insert("two\nlines");
        assert_eq!(field.text(), "two lines");
        press(&mut field, "home delete");
        press(&mut field, "end ctrl+b");
        press(&mut field, "ctrl+k");
        assert_eq!(field.text(), "wo line");
        press(&mut field, "ctrl+u");
        assert!(field.is_empty());
        assert!(!field.key(Key::plain(KeyCode::Enter)));
    }

    #[test]
    fn the_part_around_the_cursor_is_shown() {
        let mut field = Field::new("日本語x");
        for (width, shown) in
            [(20, ("日本語x", 7)), (8, ("日本語x", 7)), (7, ("本語x", 5)), (2, ("x", 1)), (1, ("", 0))]
        {
            assert_eq!(field.shown(width, Measure::default()), (shown.0.to_owned(), shown.1), "{width}");
        }
        press(&mut field, "home");
        assert_eq!(field.shown(3, Measure::default()), ("日".to_owned(), 0));
    }

    proptest! {
        #[test]
        fn any_editing_keeps_the_cursor_in_the_text_and_the_row_in_its_width(
            text in "\\PC{0,12}", keys in proptest::collection::vec(0_usize..10, 0..20), width in 1_usize..12,
        ) {
            let mut field = Field::new(text);
            for key in keys {
                let names = ["left", "right", "backspace", "delete", "ctrl+w", "home", "end", "x", "é", "ctrl+k"];
                press(&mut field, names[key]);
                let (shown, column) = field.shown(width, Measure::default());
                prop_assert!(Measure::default().text(&shown) <= width && column < width, "{shown:?} {column}");
            }
        }
    }
}
