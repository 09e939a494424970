//! Reads every byte that goes to the terminal, and fails on what is not on the list.
//!
//! The list is §10 of the contract: styles, moves, erasing to the right and below, the modes of
//! `terminal::modes`, synchronised updates, the questions, and OSC 0, 8, 9, 11, 52, 99 and 777 as
//! `terminal::osc` writes them.

use crate::screens::frame::Screen;

/// What was written, apart from moves and styles.
#[derive(Debug, Default)]
pub(crate) struct Written {
    /// The text, with line feeds.
    pub(crate) text: String,
    /// The payloads of the operating system commands, without those in a passthrough.
    pub(crate) commands: Vec<String>,
    /// The addresses of hyperlinks.
    pub(crate) addresses: Vec<String>,
}

/// Reads what a screen wrote.
///
/// # Panics
/// On anything that is not on the list, for inline on what would scroll or clear the screen, and
/// for plain on every control character but the line feed and the bell.
pub(crate) fn read(bytes: &[u8], screen: Screen) -> Written {
    let text = std::str::from_utf8(bytes).expect("only UTF-8 is written");
    let mut reader = Reader { rest: text, screen, written: Written::default(), link: false };
    while !reader.rest.is_empty() {
        reader.next();
    }
    assert!(!reader.link, "a hyperlink is not closed: {text:?}");
    reader.written
}

struct Reader<'a> {
    rest: &'a str,
    screen: Screen,
    written: Written,
    /// Whether a hyperlink is open.
    link: bool,
}

impl Reader<'_> {
    fn next(&mut self) {
        let whole = self.rest;
        let character = whole.chars().next().expect("something is left");
        self.rest = &whole[character.len_utf8()..];
        match character {
            '\u{1b}' => {
                assert!(self.screen != Screen::Plain, "ESC in plain: {whole:?}");
                self.sequence();
            }
            // What a notification rings.
            '\u{7}' => {}
            '\n' => self.written.text.push('\n'),
            '\r' => assert!(self.screen != Screen::Plain, "a carriage return in plain: {whole:?}"),
            character => {
                assert!(!is_hidden(character), "{character:?} is written: {:?}", short(whole));
                self.written.text.push(character);
            }
        }
    }

    fn sequence(&mut self) {
        let whole = self.rest;
        if let Some(rest) = whole.strip_prefix('[') {
            let end = rest.find(|c: char| !(' '..='?').contains(&c)).expect("a sequence ends");
            let (parameters, last) = (&rest[..end], rest.as_bytes()[end]);
            assert!(self.allows(parameters, last), "CSI {parameters:?} {:?}", char::from(last));
            self.rest = &rest[end + 1..];
        } else if let Some(rest) = whole.strip_prefix(']') {
            let end = rest.find(['\u{7}', '\u{1b}']).expect("a command ends");
            let payload = &rest[..end];
            self.rest = rest[end..].strip_prefix('\u{7}').or(rest[end..].strip_prefix("\u{1b}\\")).unwrap();
            self.command(payload);
        } else if let Some(rest) = whole.strip_prefix("Ptmux;") {
            let mut inner = String::new();
            let mut characters = rest.char_indices();
            let end = loop {
                match characters.next().expect("a passthrough ends") {
                    (at, '\u{1b}') => match characters.next() {
                        Some((_, '\u{1b}')) => inner.push('\u{1b}'),
                        Some((_, '\\')) => break at + 2,
                        other => panic!("{other:?} after ESC in a passthrough"),
                    },
                    (_, character) => inner.push(character),
                }
            };
            self.rest = &rest[end..];
            let inner = read(inner.as_bytes(), self.screen);
            assert!(inner.text.is_empty() && inner.commands.len() == 1, "{inner:?} in a passthrough");
            self.written.commands.extend(inner.commands);
        } else {
            panic!("ESC {:?}", short(whole));
        }
    }

    fn allows(&self, parameters: &str, last: u8) -> bool {
        let numbers = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b';');
        let full = self.screen == Screen::Full;
        match (parameters, last) {
            (text, b'm') if numbers(text) => true,
            (text, b'A' | b'B' | b'G') => text.bytes().all(|byte| byte.is_ascii_digit()),
            // Only for a screen that Tiller owns.
            (text, b'H') => full && numbers(text),
            ("", b'K' | b'J') => true,
            ("?25" | "?2026" | "?2004" | "?1004", b'h' | b'l') => true,
            ("?1049" | "?1000" | "?1006", b'h' | b'l') => full,
            (">4;1" | ">4", b'm') => true,
            (">1" | "<1" | "?", b'u') => true,
            ("22;0" | "23;0", b't') => true,
            (">0", b'q') | ("?2026$" | "?2004$", b'p') | ("", b'c') => true,
            _ => false,
        }
    }

    fn command(&mut self, payload: &str) {
        assert!(!payload.chars().any(is_hidden), "{payload:?}");
        let (number, rest) = payload.split_once(';').expect("a command has a number");
        let fits = match number {
            "0" | "9" => !rest.contains(';'),
            "8" => {
                let address = rest.strip_prefix(';').expect("no parameters");
                assert!(address.is_empty() || !self.link, "a hyperlink in another: {payload:?}");
                self.link = !address.is_empty();
                if self.link {
                    self.written.addresses.push(address.to_owned());
                }
                let is_known = ["http://", "https://", "file://"].iter().any(|it| address.starts_with(it));
                address.len() <= 2083
                    && address.bytes().all(|byte| byte.is_ascii_graphic())
                    && (address.is_empty() || is_known)
            }
            "11" => rest == "?",
            "52" => rest.strip_prefix("c;").is_some_and(|data| {
                data.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte))
            }),
            "99" => rest.strip_prefix(';').is_some_and(|words| !words.contains(';')),
            "777" => rest.strip_prefix("notify;Tiller;").is_some_and(|words| !words.contains(';')),
            _ => false,
        };
        assert!(fits && payload.len() <= 140_000, "OSC {:?}", short(payload));
        self.written.commands.push(payload.to_owned());
    }
}

/// Whether a character repaints, hides, or changes the direction. U+200D joins emoji that the user
/// typed and has no other effect.
pub(crate) fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200c}' | '\u{200e}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}')
}

fn short(text: &str) -> String {
    text.chars().take(60).collect()
}

#[test]
fn what_is_not_on_the_list_is_found() {
    let fails = |text: &str, screen| {
        let text = text.to_owned();
        std::panic::catch_unwind(move || read(text.as_bytes(), screen)).is_err()
    };
    for text in [
        "\u{1b}[2J",
        "\u{1b}[3J",
        "\u{1b}[1S",
        "\u{1b}[T",
        "\u{1b}[L",
        "\u{1b}[M",
        "\u{1b}[1;5r",
        "\u{1b}[3;4H",
        "\u{1b}[?1049h",
        "\u{1b}[?1000h",
    ] {
        assert!(fails(text, Screen::Inline), "{text:?} in inline");
    }
    for text in [
        "\u{1b}c",
        "\u{1b}[6n",
        "\u{1b}[2J",
        "\u{9b}2J",
        "a\u{8}",
        "\t",
        "\u{202e}",
        "\u{1b}]1337;x\u{7}",
        "\u{1b}]52;c;?\u{7}",
        "\u{1b}]8;;javascript:x\u{1b}\\a\u{1b}]8;;\u{1b}\\",
        "\u{1b}]8;;http://a\u{7}x",
        "\u{1b}]0;a;b\u{7}",
        "\u{1b}Pq\u{1b}\\",
        "\u{1b}Ptmux;x\u{1b}\\",
        "\u{1b}[?5h",
        "\u{1b}[2 q",
    ] {
        assert!(fails(text, Screen::Full), "{text:?} in full");
    }
    for text in ["\u{1b}[m", "\r", "\u{9b}"] {
        assert!(fails(text, Screen::Plain), "{text:?} in plain");
    }
    let good = "\u{1b}[?2026h\u{1b}[A\r\u{1b}[J\u{1b}[1;31mx\u{1b}[m\r\n\u{1b}[5G\u{1b}[?25l\u{1b}[?2026l\u{1b}]52;c;eA==\u{7}";
    let written = read(good.as_bytes(), Screen::Inline);
    assert_eq!((written.text.as_str(), written.commands.len()), ("x\n", 1));
}
