//! Control sequences, and the text between them.
//!
//! Every byte that goes to the terminal is put together here. Text cannot contain a control
//! character, so nothing that a model or a tool says can be a control sequence.

use super::{capabilities::Colours, osc};
use ratatui_core::style::{Color, Modifier, Style};
use std::fmt::Write as _;

/// Bytes for the terminal.
#[derive(Debug, Clone)]
pub struct Writer {
    bytes: String,
    /// The style that the terminal has after the bytes so far.
    style: Style,
    colours: Colours,
    /// Whether links are written.
    hyperlinks: bool,
}

impl Writer {
    /// Creates a writer for a terminal whose style is the default one.
    pub fn new(colours: Colours) -> Self {
        Self { bytes: String::new(), style: Style::new(), colours, hyperlinks: false }
    }

    /// Sets whether links are written.
    #[must_use]
    pub fn with_hyperlinks(self, hyperlinks: bool) -> Self {
        Self { hyperlinks, ..self }
    }

    /// Returns the bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes.into_bytes()
    }

    /// Whether nothing has been written.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns the number of bytes.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Appends what another writer has written, which began with the default style.
    pub fn append(&mut self, other: Self) {
        self.plain();
        self.bytes.push_str(&other.bytes);
        self.style = other.style;
    }

    /// Writes text in a style. A control character becomes U+FFFD.
    pub fn text(&mut self, text: &str, style: Style) {
        self.set_style(style);
        match text.contains(char::is_control) {
            false => self.bytes.push_str(text),
            true => self.bytes.extend(text.chars().map(shown)),
        }
    }

    /// Writes text in a style as a link to an address, if links are written and it can be one.
    pub fn linked(&mut self, text: &str, style: Style, address: Option<&str>) {
        let link = address.filter(|_| self.hyperlinks).and_then(osc::hyperlink);
        let Some((start, end)) = link else { return self.text(text, style) };
        self.bytes.push_str(&start);
        self.text(text, style);
        self.bytes.push_str(end);
    }

    /// Returns to the default style, which erased cells get too.
    pub fn plain(&mut self) {
        self.set_style(Style::new());
    }

    /// Goes to the first column of the next row; the screen scrolls at its end.
    pub fn next_row(&mut self) {
        self.plain();
        self.bytes.push_str("\r\n");
    }

    /// Goes to the first column.
    pub fn first_column(&mut self) {
        self.bytes.push('\r');
    }

    /// Goes to a column, from 0.
    pub fn column(&mut self, column: u16) {
        match column {
            0 => self.first_column(),
            _ => self.sequence(u32::from(column) + 1, 'G'),
        }
    }

    /// Goes up, as far as the first row of the screen.
    pub fn up(&mut self, rows: u16) {
        if rows > 0 {
            self.sequence(rows.into(), 'A');
        }
    }

    /// Goes down, as far as the last row of the screen.
    pub fn down(&mut self, rows: u16) {
        if rows > 0 {
            self.sequence(rows.into(), 'B');
        }
    }

    /// Goes to a cell of the screen, from 0. Only for a screen that Tiller owns.
    pub fn cell(&mut self, column: u16, row: u16) {
        let (column, row) = (u32::from(column) + 1, u32::from(row) + 1);
        write!(self.bytes, "\u{1b}[{row};{column}H").expect("a string can be written to");
    }

    /// Erases from the cursor to the end of the row.
    pub fn erase_right(&mut self) {
        self.plain();
        self.bytes.push_str("\u{1b}[K");
    }

    /// Erases from the cursor to the end of the screen.
    pub fn erase_below(&mut self) {
        self.plain();
        self.bytes.push_str("\u{1b}[J");
    }

    /// Begins an update that the terminal shows at once.
    pub fn begin_update(&mut self) {
        self.bytes.push_str("\u{1b}[?2026h");
    }

    /// Ends an update.
    pub fn end_update(&mut self) {
        self.plain();
        self.bytes.push_str("\u{1b}[?2026l");
    }

    /// Shows or hides the cursor.
    pub fn show_cursor(&mut self, shown: bool) {
        self.control(if shown { "\u{1b}[?25h" } else { "\u{1b}[?25l" });
    }

    /// Writes a control sequence of this module.
    pub(super) fn control(&mut self, sequence: &str) {
        self.bytes.push_str(sequence);
    }

    fn sequence(&mut self, number: u32, end: char) {
        self.bytes.push_str("\u{1b}[");
        if number > 1 {
            write!(self.bytes, "{number}").expect("a string can be written to");
        }
        self.bytes.push(end);
    }

    fn set_style(&mut self, style: Style) {
        let style = self.colours.reduce(style);
        if style == self.style {
            return;
        }
        let mut codes = String::new();
        let adds = |from: Style, to: Style| to.add_modifier.contains(from.add_modifier);
        let keeps = |from: Option<Color>, to: Option<Color>| from.is_none() || to.is_some();
        if !adds(self.style, style) || !keeps(self.style.fg, style.fg) || !keeps(self.style.bg, style.bg) {
            self.style = Style::new();
            codes.push(';');
        }
        for (modifier, code) in MODIFIERS {
            if style.add_modifier.contains(modifier) && !self.style.add_modifier.contains(modifier) {
                codes.push_str(code);
                codes.push(';');
            }
        }
        if let Some(colour) = style.fg.filter(|_| style.fg != self.style.fg) {
            push_colour(&mut codes, colour, 30);
        }
        if let Some(colour) = style.bg.filter(|_| style.bg != self.style.bg) {
            push_colour(&mut codes, colour, 40);
        }
        codes.pop();
        self.bytes.push_str("\u{1b}[");
        self.bytes.push_str(&codes);
        self.bytes.push('m');
        self.style = style;
    }
}

const MODIFIERS: [(Modifier, &str); 7] = [
    (Modifier::BOLD, "1"),
    (Modifier::DIM, "2"),
    (Modifier::ITALIC, "3"),
    (Modifier::UNDERLINED, "4"),
    (Modifier::REVERSED, "7"),
    (Modifier::HIDDEN, "8"),
    (Modifier::CROSSED_OUT, "9"),
];

/// Appends the codes of a colour; `base` is 30 for text and 40 for its background.
fn push_colour(codes: &mut String, colour: Color, base: u8) {
    let bright = base + 60;
    let written = match colour {
        Color::Reset => write!(codes, "{};", base + 9),
        Color::Black => write!(codes, "{base};"),
        Color::Red => write!(codes, "{};", base + 1),
        Color::Green => write!(codes, "{};", base + 2),
        Color::Yellow => write!(codes, "{};", base + 3),
        Color::Blue => write!(codes, "{};", base + 4),
        Color::Magenta => write!(codes, "{};", base + 5),
        Color::Cyan => write!(codes, "{};", base + 6),
        Color::Gray => write!(codes, "{};", base + 7),
        Color::DarkGray => write!(codes, "{bright};"),
        Color::LightRed => write!(codes, "{};", bright + 1),
        Color::LightGreen => write!(codes, "{};", bright + 2),
        Color::LightYellow => write!(codes, "{};", bright + 3),
        Color::LightBlue => write!(codes, "{};", bright + 4),
        Color::LightMagenta => write!(codes, "{};", bright + 5),
        Color::LightCyan => write!(codes, "{};", bright + 6),
        Color::White => write!(codes, "{};", bright + 7),
        Color::Indexed(index) => write!(codes, "{};5;{index};", base + 8),
        Color::Rgb(red, green, blue) => write!(codes, "{};2;{red};{green};{blue};", base + 8),
    };
    written.expect("a string can be written to");
}

/// Returns the character that is shown for one of a text.
fn shown(character: char) -> char {
    if character.is_control() { char::REPLACEMENT_CHARACTER } else { character }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut Writer)) -> String {
        let mut writer = Writer::new(Colours::True);
        write(&mut writer);
        String::from_utf8(writer.into_bytes()).unwrap()
    }

    #[test]
    fn only_what_changes_of_a_style_is_written() {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        for (first, second, expected) in [
            (bold, bold, "\u{1b}[1mab"),
            (bold, bold.fg(Color::Red), "\u{1b}[1ma\u{1b}[31mb"),
            (bold.fg(Color::Red), bold, "\u{1b}[1;31ma\u{1b}[;1mb"),
            (bold, Style::new(), "\u{1b}[1ma\u{1b}[mb"),
            (Style::new().fg(Color::Rgb(1, 2, 3)), Style::new().fg(Color::Indexed(200)), {
                "\u{1b}[38;2;1;2;3ma\u{1b}[38;5;200mb"
            }),
            (Style::new().bg(Color::White), Style::new().bg(Color::DarkGray), "\u{1b}[107ma\u{1b}[100mb"),
        ] {
            let text = written(|writer| {
                writer.text("a", first);
                writer.text("b", second);
            });
            assert_eq!(text, expected);
        }
    }

    #[test]
    fn no_control_character_of_a_text_is_written() {
        let text = written(|writer| writer.text("a\u{1b}[2Jb\u{9b}c\r\n\u{7f}", Style::new()));
        assert_eq!(text, "a\u{fffd}[2Jb\u{fffd}c\u{fffd}\u{fffd}\u{fffd}");
    }

    #[test]
    fn a_move_of_one_has_no_number() {
        let text = written(|writer| {
            writer.up(1);
            writer.up(0);
            writer.down(12);
            writer.column(4);
            writer.column(0);
        });
        assert_eq!(text, "\u{1b}[A\u{1b}[12B\u{1b}[5G\r");
    }
}
