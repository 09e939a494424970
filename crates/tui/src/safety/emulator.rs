//! A terminal emulator that behaves like xterm, and what it shows.

use std::num::NonZeroU16;

/// Returns a terminal of this size with much scrollback.
pub(crate) fn terminal(columns: u16, rows: u16) -> vt100::Parser {
    vt100::Parser::new(number(rows), number(columns), 10_000)
}

/// Changes the size; lines are cut, not wrapped again.
pub(crate) fn resize(parser: &mut vt100::Parser, columns: u16, rows: u16) {
    parser.screen_mut().set_size(number(rows), number(columns));
}

/// Returns all rows of the scrollback and the screen, with whether the terminal goes on with each
/// in the next one.
pub(crate) fn rows(parser: &mut vt100::Parser) -> Vec<(String, bool)> {
    let screen = parser.screen_mut();
    let columns = screen.size().1.get();
    let mut rows = Vec::new();
    for offset in (1..=screen.scrollback_len()).rev() {
        screen.set_scrollback(offset);
        rows.push((screen.rows(0, columns).next().expect("a screen has rows"), screen.row_wrapped(0)));
    }
    screen.set_scrollback(0);
    let wrapped: Vec<bool> = (0..screen.size().0.get()).map(|row| screen.row_wrapped(row)).collect();
    rows.extend(screen.rows(0, columns).zip(wrapped));
    rows
}

/// Returns the lines of the scrollback and the screen, whole, without empty ones at the end.
pub(crate) fn lines(parser: &mut vt100::Parser) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut goes_on = false;
    for (row, wrapped) in rows(parser) {
        match lines.last_mut() {
            Some(line) if goes_on => line.push_str(&row),
            _ => lines.push(row),
        }
        goes_on = wrapped;
    }
    lines.iter_mut().for_each(|line| line.truncate(line.trim_end().len()));
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

fn number(number: u16) -> NonZeroU16 {
    NonZeroU16::new(number).expect("a terminal has columns and rows")
}
