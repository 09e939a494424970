//! Inputs and answers out of the bytes that a terminal sends; the only file that names the parser.
//!
//! Architecture Invariant: no clock. The time is an argument, so that every order of bytes and
//! pauses can be tested.
//!
//! Where a terminal does not mark what is pasted, a paste differs from typing by its speed. Enter
//! that comes with other text, or is followed by some at once, is part of a paste and never sends.

use super::units::{Unit, Units};
use crate::{
    input::{Input, Key, KeyCode},
    limits,
};
use std::time::Duration;
use termina::{
    Event as Parsed, Parser,
    escape::{
        csi::{Csi, Cursor, DecModeSetting, Mode},
        osc::{ColorOrQuery, DynamicColorNumber, Osc},
    },
    event::{KeyCode as Code, KeyEvent, KeyEventKind, Modifiers, MouseButton, MouseEventKind},
};

/// Rows for each step of the wheel.
const WHEEL_ROWS: i32 = 3;

/// What a terminal sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// What the user did.
    Input(Input),
    /// The terminal's answer to a question of Tiller.
    Answer(Answer),
}

/// An answer of the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Its name and version.
    Name(String),
    /// Whether it can show an update at once.
    Synchronised(bool),
    /// Whether it marks what is pasted.
    MarksPastes(bool),
    /// Whether it has the keyboard protocol with a stack.
    Keyboard,
    /// Where the cursor is: column and row, from 0.
    Cursor(u16, u16),
    /// The colour of its background: red, green, blue.
    Background([u8; 3]),
    /// What kind of terminal it is; every terminal answers this, so it ends a series of questions.
    Attributes,
}

/// Turns bytes into events.
#[derive(Debug, Default)]
pub struct Decoder {
    units: Units,
    /// When the last bytes came.
    last: Duration,
    /// When the last character was typed.
    last_text: Option<Duration>,
    /// Whether the terminal marks what is pasted, so that other text is typed, however fast;
    /// `None` until it is known.
    marks_pastes: Option<bool>,
    burst: Option<Burst>,
}

/// Text that may be pasted, until it is known.
#[derive(Debug)]
struct Burst {
    text: String,
    /// Whether it followed other text at once.
    follows: bool,
    last: Duration,
}

impl Decoder {
    /// Takes bytes that came at `now`, the time since any fixed moment. Bytes that came after the
    /// deadline of a burst, without a call of [`Self::expire`] between, continue it: they had been
    /// waiting for a process that was late.
    pub fn push(&mut self, bytes: &[u8], now: Duration) -> Vec<Event> {
        let mut events = Vec::new();
        self.expire_sequence(now, &mut events);
        self.last = now;
        let units = self.units.push(bytes);
        self.decode(units, now, &mut events);
        events
    }

    /// Returns the moment at which [`Self::expire`] has something to do if no bytes come before.
    pub fn deadline(&self) -> Option<Duration> {
        let sequence = self.units.patience().map(|patience| self.last + patience);
        let burst = self.burst.as_ref().map(|burst| burst.last + limits::BURST_GAP);
        sequence.into_iter().chain(burst).min()
    }

    /// Takes that it is `now`.
    pub fn expire(&mut self, now: Duration) -> Vec<Event> {
        let mut events = Vec::new();
        if self.burst.as_ref().is_some_and(|burst| now >= burst.last + limits::BURST_GAP) {
            self.end_burst(&mut events);
        }
        self.expire_sequence(now, &mut events);
        events
    }

    fn expire_sequence(&mut self, now: Duration, events: &mut Vec<Event>) {
        if self.units.patience().is_some_and(|patience| now >= self.last + patience) {
            let units = self.units.expire();
            self.decode(units, now, events);
        }
    }

    fn decode(&mut self, units: Vec<Unit>, now: Duration, events: &mut Vec<Event>) {
        let mut run = Vec::new();
        for unit in units {
            let event = match unit {
                Unit::Paste(bytes) => Some(Event::Input(Input::Paste(pasted(&bytes)))),
                Unit::Bytes(bytes) => parsed(&bytes),
            };
            match event {
                Some(Event::Input(Input::Key(key))) if text_of(key).is_some() => run.push(key),
                Some(event) => {
                    self.learn(&event);
                    self.end_run(&mut run, now, events);
                    self.end_burst(events);
                    events.push(event);
                }
                None => {}
            }
        }
        self.end_run(&mut run, now, events);
    }

    /// Learns whether the terminal marks pastes: by a paste, by its answer, or, since tmux does not
    /// answer that, by any other answer of a terminal that is not old.
    fn learn(&mut self, event: &Event) {
        match event {
            Event::Input(Input::Paste(_)) => self.marks_pastes = Some(true),
            Event::Answer(Answer::MarksPastes(marks)) => self.marks_pastes = Some(*marks),
            Event::Answer(Answer::Name(_) | Answer::Keyboard) => {
                self.marks_pastes.get_or_insert(true);
            }
            _ => {}
        }
    }

    /// Takes characters that came together.
    fn end_run(&mut self, run: &mut Vec<Key>, now: Duration, events: &mut Vec<Event>) {
        if run.is_empty() {
            return;
        }
        let run = std::mem::take(run);
        let text: String = run.iter().copied().filter_map(text_of).collect();
        let follows = self.last_text.is_some_and(|last| now < last + limits::BURST_GAP);
        self.last_text = Some(now);
        if let Some(burst) = &mut self.burst {
            burst.text.push_str(&text);
            burst.last = now;
            return;
        }
        if self.marks_pastes == Some(true) {
            events.extend(run.into_iter().map(|key| Event::Input(Input::Key(key))));
            return;
        }
        let enters = run.iter().any(|key| key.code == KeyCode::Enter)
            || (text.contains('\n') && (follows || run.len() > 1));
        match enters || run.len() > limits::BURST_CHARACTERS {
            true => self.burst = Some(Burst { text, follows, last: now }),
            false => events.extend(run.into_iter().map(|key| Event::Input(Input::Key(key)))),
        }
    }

    fn end_burst(&mut self, events: &mut Vec<Event>) {
        let Some(burst) = self.burst.take() else { return };
        events.push(Event::Input(match burst.text == "\n" && !burst.follows {
            true => Input::Key(Key::plain(KeyCode::Enter)),
            false => Input::Paste(burst.text),
        }));
    }
}

/// Returns the character that a key would be in a paste.
fn text_of(key: Key) -> Option<char> {
    match key {
        Key { code: KeyCode::Char('j'), ctrl: true, alt: false, .. } => Some('\n'),
        Key { ctrl: true, .. } | Key { alt: true, .. } => None,
        Key { code: KeyCode::Char(character), .. } => Some(character),
        Key { code: KeyCode::Enter, shift: false, .. } => Some('\n'),
        Key { code: KeyCode::Tab, shift: false, .. } => Some('\t'),
        _ => None,
    }
}

/// Returns pasted text. Most terminals send each line break as `\r`, which becomes `\n`; where
/// there is a `\n`, the terminal sends the text as it is.
fn pasted(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    match text.contains('\n') {
        true => text.into_owned(),
        false => text.replace('\r', "\n"),
    }
}

/// Returns what one unit means; `None` for what Tiller does not use.
fn parsed(bytes: &[u8]) -> Option<Event> {
    // What the parser takes for the beginning of a sequence.
    if let [0x1b, character @ (b'[' | b']' | b'O' | b'P' | b'_' | b'^')] = bytes {
        return Some(Event::Input(Input::Key(Key::alt(char::from(*character)))));
    }
    if let Some(name) = bytes.strip_prefix(b"\x1bP>|") {
        let name = name.strip_suffix(b"\x1b\\").or_else(|| name.strip_suffix(b"\x07"))?;
        return Some(Event::Answer(Answer::Name(agent::one_line(&String::from_utf8_lossy(name)))));
    }
    if bytes.starts_with(b"\x1b[?") && bytes.ends_with(b"c") {
        return Some(Event::Answer(Answer::Attributes));
    }
    // The parser does not know the answer about this mode: 0 is a mode that the terminal has not.
    if let Some(setting) = bytes.strip_prefix(b"\x1b[?2004;").and_then(|rest| rest.strip_suffix(b"$y")) {
        return Some(Event::Answer(Answer::MarksPastes(setting != b"0")));
    }
    let mut parser = Parser::default();
    match other_key(bytes) {
        Some(bytes) => parser.parse(&bytes, false),
        None => parser.parse(bytes, false),
    }
    match parser.pop()? {
        Parsed::Key(event) => key(event).map(|key| Event::Input(Input::Key(key))),
        Parsed::FocusIn => Some(Event::Input(Input::Focus(true))),
        Parsed::FocusOut => Some(Event::Input(Input::Focus(false))),
        Parsed::Mouse(mouse) => match mouse.kind {
            MouseEventKind::ScrollUp => Some(Event::Input(Input::Scroll(-WHEEL_ROWS))),
            MouseEventKind::ScrollDown => Some(Event::Input(Input::Scroll(WHEEL_ROWS))),
            MouseEventKind::Down(MouseButton::Left) => {
                Some(Event::Input(Input::Click { column: mouse.column, row: mouse.row }))
            }
            _ => None,
        },
        Parsed::Csi(csi) => answer(&csi).map(Event::Answer),
        Parsed::Osc(Osc::ChangeDynamicColors(DynamicColorNumber::TextBackgroundColor, colours)) => {
            match colours.first() {
                Some(ColorOrQuery::Color(colour)) => {
                    Some(Event::Answer(Answer::Background([colour.red, colour.green, colour.blue])))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// Returns a key of the older extended form, `CSI 27 ; modifiers ; code ~`, in the newer one.
fn other_key(bytes: &[u8]) -> Option<Vec<u8>> {
    let rest = std::str::from_utf8(bytes).ok()?.strip_prefix("\u{1b}[27;")?.strip_suffix('~')?;
    let (modifiers, code) = rest.split_once(';')?;
    Some(format!("\u{1b}[{code};{modifiers}u").into_bytes())
}

fn answer(csi: &Csi) -> Option<Answer> {
    match csi {
        Csi::Mode(Mode::ReportDecPrivateMode { mode, setting }) if mode.to_string() == "2026" => {
            Some(Answer::Synchronised(*setting != DecModeSetting::NotRecognized))
        }
        Csi::Keyboard(_) => Some(Answer::Keyboard),
        Csi::Cursor(Cursor::ActivePositionReport { line, col }) => {
            Some(Answer::Cursor(col.get_zero_based(), line.get_zero_based()))
        }
        _ => None,
    }
}

fn key(event: KeyEvent) -> Option<Key> {
    if event.kind == KeyEventKind::Release {
        return None;
    }
    let has = |modifier| event.modifiers.contains(modifier);
    let (ctrl, alt, mut shift) = (has(Modifiers::CONTROL), has(Modifiers::ALT), has(Modifiers::SHIFT));
    let code = match event.code {
        Code::Char(character) if character.is_control() => return None,
        Code::Char(character) => {
            let character = match shift && !ctrl {
                true => upper(character),
                false => character,
            };
            shift &= ctrl;
            KeyCode::Char(character)
        }
        Code::Enter => KeyCode::Enter,
        Code::Tab => KeyCode::Tab,
        Code::BackTab => {
            shift = true;
            KeyCode::Tab
        }
        Code::Escape => KeyCode::Esc,
        Code::Backspace => KeyCode::Backspace,
        Code::Delete => KeyCode::Delete,
        Code::Insert => KeyCode::Insert,
        Code::Left => KeyCode::Left,
        Code::Right => KeyCode::Right,
        Code::Up => KeyCode::Up,
        Code::Down => KeyCode::Down,
        Code::Home => KeyCode::Home,
        Code::End => KeyCode::End,
        Code::PageUp => KeyCode::PageUp,
        Code::PageDown => KeyCode::PageDown,
        _ => return None,
    };
    Some(Key { code, ctrl, alt, shift })
}

/// Returns the upper case of a character if that is one character too.
fn upper(character: char) -> char {
    let mut upper = character.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(single), None) => single,
        _ => character,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    /// Plays bytes at their times, and then a long pause.
    fn played(steps: &[(u64, &str)]) -> Vec<Event> {
        let mut decoder = Decoder::default();
        let mut events = Vec::new();
        for (at, bytes) in steps {
            while let Some(deadline) = decoder.deadline().filter(|deadline| *deadline <= ms(*at)) {
                events.extend(decoder.expire(deadline));
            }
            events.extend(decoder.push(bytes.as_bytes(), ms(*at)));
        }
        while let Some(deadline) = decoder.deadline() {
            events.extend(decoder.expire(deadline));
        }
        events
    }

    fn keys(keys: &[Key]) -> Vec<Event> {
        keys.iter().map(|key| Event::Input(Input::Key(*key))).collect()
    }

    fn paste(text: &str) -> Event {
        Event::Input(Input::Paste(text.to_owned()))
    }

    #[test]
    fn keys_of_every_form_are_read() {
        let shift = |code| Key { shift: true, ..Key::plain(code) };
        for (bytes, key) in [
            ("a", Key::plain(KeyCode::Char('a'))),
            ("Ü", Key::plain(KeyCode::Char('Ü'))),
            ("\r", Key::plain(KeyCode::Enter)),
            ("\n", Key::ctrl('j')),
            ("\t", Key::plain(KeyCode::Tab)),
            ("\u{7f}", Key::plain(KeyCode::Backspace)),
            ("\u{1b}", Key::plain(KeyCode::Esc)),
            ("\u{1}", Key::ctrl('a')),
            ("\u{1b}b", Key::alt('b')),
            ("\u{1b}[", Key::alt('[')),
            ("\u{1b}\r", Key { alt: true, ..Key::plain(KeyCode::Enter) }),
            ("\u{1b}[A", Key::plain(KeyCode::Up)),
            ("\u{1b}[1;5D", Key { ctrl: true, ..Key::plain(KeyCode::Left) }),
            ("\u{1b}[Z", shift(KeyCode::Tab)),
            ("\u{1b}[3~", Key::plain(KeyCode::Delete)),
            ("\u{1b}[13;2u", shift(KeyCode::Enter)),
            ("\u{1b}[27;2;13~", shift(KeyCode::Enter)),
            ("\u{1b}[106;5u", Key::ctrl('j')),
            ("\u{1b}[27;5;106~", Key::ctrl('j')),
            ("\u{1b}[97;2u", Key::plain(KeyCode::Char('A'))),
            ("\u{1b}[27u", Key::plain(KeyCode::Esc)),
        ] {
            assert_eq!(played(&[(0, bytes)]), keys(&[key]), "{bytes:?}");
            let bytewise: Vec<Event> = {
                let mut decoder = Decoder::default();
                let mut events: Vec<Event> =
                    bytes.as_bytes().chunks(1).flat_map(|byte| decoder.push(byte, ms(0))).collect();
                while let Some(deadline) = decoder.deadline() {
                    events.extend(decoder.expire(deadline));
                }
                events
            };
            assert_eq!(bytewise, keys(&[key]), "{bytes:?} byte by byte");
        }
    }

    #[test]
    fn answers_are_no_keys() {
        for (bytes, expected) in [
            ("\u{1b}P>|tmux 3.4\u{1b}\\", Answer::Name("tmux 3.4".to_owned())),
            ("\u{1b}[?2026;2$y", Answer::Synchronised(true)),
            ("\u{1b}[?2026;0$y", Answer::Synchronised(false)),
            ("\u{1b}[?2004;1$y", Answer::MarksPastes(true)),
            ("\u{1b}[?1u", Answer::Keyboard),
            ("\u{1b}[3;9R", Answer::Cursor(8, 2)),
            ("\u{1b}]11;rgb:ffff/8080/0000\u{1b}\\", Answer::Background([255, 128, 0])),
            ("\u{1b}[?62;22c", Answer::Attributes),
        ] {
            assert_eq!(played(&[(0, bytes)]), [Event::Answer(expected)], "{bytes:?}");
        }
        assert!(played(&[(0, "\u{1b}[>84;0;0c\u{1b}[?997;9x\u{1b}]52;c;ZXZpbA==\u{7}")]).is_empty());
    }

    #[test]
    fn typed_text_and_enter_are_keys() {
        let enter = Key::plain(KeyCode::Enter);
        let character = |character| Key::plain(KeyCode::Char(character));
        assert_eq!(
            played(&[(0, "h"), (90, "i"), (200, "\r"), (300, "\r")]),
            keys(&[character('h'), character('i'), enter, enter])
        );
        assert_eq!(played(&[(0, "hi"), (30, "\r")]), keys(&[character('h'), character('i'), enter]));
    }

    #[test]
    fn enter_sends_at_once_where_the_terminal_marks_pastes() {
        let paste = "\u{1b}[200~x\u{1b}[201~";
        for sign in ["\u{1b}P>|tmux 3.4\u{1b}\\", "\u{1b}[?2004;2$y", "\u{1b}[?1u", paste] {
            let mut decoder = Decoder::default();
            decoder.push(sign.as_bytes(), Duration::ZERO);
            let events = decoder.push(b"hi\r", Duration::from_millis(1));
            let enter = Event::Input(Input::Key(Key::plain(KeyCode::Enter)));
            assert_eq!(events.last(), Some(&enter), "{sign:?}");
            assert_eq!(events.len(), 3, "{sign:?}");
        }
        let mut decoder = Decoder::default();
        decoder.push(b"\x1bP>|old\x1b\\\x1b[?2004;0$y\x1b[?1u", Duration::ZERO);
        assert_eq!(decoder.push(b"hi\r", Duration::from_millis(1)), [], "it waits for more");
    }

    #[test]
    fn enter_within_a_burst_never_sends() {
        let character = |character| Key::plain(KeyCode::Char(character));
        assert_eq!(played(&[(0, "one\rtwo\r")]), [paste("one\ntwo\n")]);
        assert_eq!(played(&[(0, "one\rtwo"), (5, "\rthree"), (10, "\r")]), [paste("one\ntwo\nthree\n")]);
        assert_eq!(
            played(&[(0, "\r"), (3, "rm -rf\r")]),
            [paste("\nrm -rf\n")],
            "a paste that begins with it"
        );
        let mut slow = keys(&[character('x')]);
        slow.push(paste("\n"));
        assert_eq!(played(&[(0, "x"), (7, "\r")]), slow, "nobody types that fast");
        assert_eq!(played(&[(0, "a long line without end")]), [paste("a long line without end")]);
        assert_eq!(played(&[(0, "a\nb")]), [paste("a\nb")]);
    }

    #[test]
    fn a_marked_paste_is_one_input() {
        assert_eq!(
            played(&[(0, "\u{1b}[200~a\rb\rc"), (900, "\rd\u{1b}[201~")]),
            [paste("a\nb\nc\nd")],
            "however long it takes"
        );
        assert_eq!(played(&[(0, "\u{1b}[200~a\r\nb\n\rc\u{1b}[201~")]), [paste("a\r\nb\n\rc")]);
    }

    #[test]
    fn a_burst_goes_on_where_the_reader_was_late() {
        let mut decoder = Decoder::default();
        assert_eq!(decoder.push(b"one\r", ms(0)), []);
        assert_eq!(decoder.push(b"\r", ms(60)), []);
        assert_eq!(decoder.expire(ms(68)), [paste("one\n\n")]);
        let enter = Event::Input(Input::Key(Key::plain(KeyCode::Enter)));
        assert_eq!(decoder.push(b"\r", ms(90)), []);
        assert_eq!(decoder.expire(ms(98)), [enter]);
    }

    #[test]
    fn the_wheel_and_clicks_are_inputs() {
        assert_eq!(played(&[(0, "\u{1b}[<64;5;5M")]), [Event::Input(Input::Scroll(-WHEEL_ROWS))]);
        let click = Event::Input(Input::Click { column: 4, row: 6 });
        assert_eq!(played(&[(0, "\u{1b}[<0;5;7M\u{1b}[<0;5;7m")]), [click]);
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_break_the_decoder(steps in proptest::collection::vec((0_u64..40, proptest::collection::vec(proptest::num::u8::ANY, 0..12)), 0..20)) {
            let mut decoder = Decoder::default();
            let mut now = 0;
            for (pause, bytes) in steps {
                now += pause;
                decoder.push(&bytes, ms(now));
            }
            for _ in 0..3 {
                if let Some(deadline) = decoder.deadline() {
                    decoder.expire(deadline);
                }
            }
            // A paste without an end is the only thing that waits without a limit.
            proptest::prop_assert!(decoder.deadline().is_none());
        }
    }
}
