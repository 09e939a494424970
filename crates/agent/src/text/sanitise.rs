//! Makes untrusted text safe to display.
//!
//! The output of a tool, a file name or a command can contain escape sequences and characters that
//! repaint a terminal, write to the clipboard, hide text or reverse its direction. Text for display
//! is sanitised here; what the model reads is not changed.

use crate::limits::SGR_BYTES;
use unicode_properties::{GeneralCategoryGroup, UnicodeEmoji as _, UnicodeGeneralCategory as _};

/// Removes escape sequences from a stream of chunks; a sequence may be split between chunks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sanitiser {
    scanner: Scanner,
    joins: Joins,
    /// Whether only sequences and control characters are removed.
    keeps_text: bool,
}

/// Separates the text of a stream from its escape sequences. A sequence may be split between
/// chunks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Scanner {
    state: State,
    /// The first number of the control sequence that is being read, if it has one so far.
    number: Option<usize>,
    /// Whether that number is complete.
    counted: bool,
    /// The parameters of the control sequence, up to a limit.
    parameters: String,
}

/// What a character of a stream completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen {
    /// A character of the text, including control characters outside of sequences.
    Text(char),
    /// A control sequence.
    Control {
        /// Its final character, which determines its function.
        last: char,
        /// Its first parameter, if it has one.
        number: Option<usize>,
    },
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    /// After ESC.
    Escape,
    /// After ESC and an intermediate character, before the final one.
    Intermediate,
    /// In a control sequence, before its final character.
    Control,
    /// In a string sequence (title, clipboard, link, …), before its end.
    String,
    /// In a string sequence, after an ESC that may end it.
    StringEscape,
}

/// Introduces an escape sequence.
const ESC: char = '\u{1b}';
/// The maximum value of a parameter; greater ones are clamped.
const NUMBER_MAX: usize = 9_999;

impl Sanitiser {
    /// Returns the displayable text of a chunk.
    pub fn push(&mut self, piece: &str) -> String {
        let mut out = String::with_capacity(piece.len());
        for c in piece.chars() {
            match self.scanner.next(c) {
                Some(Seen::Text(c)) if !self.keeps_text => self.joins.push(c, &mut out),
                Some(Seen::Text(c)) if !c.is_control() || matches!(c, '\n' | '\t') => out.push(c),
                _ => {}
            }
        }
        out
    }

    /// Creates a sanitiser for text as data: it removes escape sequences and control characters,
    /// which are commands to a terminal, and keeps everything else as it was written.
    pub(crate) fn of_data() -> Self {
        Self { keeps_text: true, ..Self::default() }
    }
}

impl Scanner {
    /// Returns whether no escape sequence is open.
    pub(crate) fn is_in_text(&self) -> bool {
        self.state == State::Text
    }

    /// Takes the next character of the stream and returns what it completes, if anything.
    pub(crate) fn next(&mut self, c: char) -> Option<Seen> {
        // A line break ends any sequence, so that an unterminated one cannot hide the rest of the
        // output.
        if c == '\n' {
            self.state = State::Text;
            return Some(Seen::Text(c));
        }
        let before = self.state;
        self.state = match (before, c) {
            (State::String, ESC) => State::StringEscape,
            (_, ESC) => State::Escape,
            (State::Escape, '[') => self.control(),
            (State::Escape | State::StringEscape, ']' | 'P' | 'X' | '^' | '_') => State::String,
            (State::StringEscape, _) => State::Text,
            (State::Escape | State::Intermediate, ' '..='/') => State::Intermediate,
            (State::Escape | State::Intermediate, _) => State::Text,
            (State::Control, '@'..='~') => {
                self.state = State::Text;
                return Some(Seen::Control { last: c, number: self.number });
            }
            (State::Control, ' '..='?') => {
                self.parameter(c);
                State::Control
            }
            (State::String, '\u{7}' | '\u{9c}') => State::Text,
            (State::String, _) => State::String,
            (State::Text | State::Control, '\u{9b}') => self.control(),
            (State::Text | State::Control, '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}') => State::String,
            (State::Text | State::Control, c) => {
                self.state = State::Text;
                return Some(Seen::Text(c));
            }
        };
        None
    }

    /// Returns the parameters of the control sequence that was completed last, if they are those of
    /// a sequence of colours; one that is too long has none.
    pub(crate) fn parameters(&self) -> Option<&str> {
        let is_sgr = |c: u8| c.is_ascii_digit() || c == b';' || c == b':';
        Some(self.parameters.as_str()).filter(|all| all.len() <= SGR_BYTES && all.bytes().all(is_sgr))
    }

    fn control(&mut self) -> State {
        (self.number, self.counted) = (None, false);
        self.parameters.clear();
        State::Control
    }

    fn parameter(&mut self, c: char) {
        if self.parameters.len() <= SGR_BYTES {
            self.parameters.push(c);
        }
        match c.to_digit(10).and_then(|digit| usize::try_from(digit).ok()) {
            Some(digit) if !self.counted => {
                self.number = Some((self.number.unwrap_or(0) * 10 + digit).min(NUMBER_MAX));
            }
            Some(_) => {}
            None => self.counted = true,
        }
    }
}

/// Returns the displayable part of a complete text.
pub fn sanitise(text: &str) -> String {
    Sanitiser::default().push(text)
}

/// Cleans a title or a name: one line of at most `most` characters, all of them visible. May be
/// empty.
pub fn label(text: &str, most: usize) -> String {
    let text = sanitise(text).replace(['\n', '\t'], " ");
    text.trim().chars().take(most).collect::<String>().trim_end().to_owned()
}

/// The longest run of spaces that is shown unchanged.
const RUN: usize = 8;

/// The deepest indentation that is shown unchanged.
const INDENT: usize = 40;

/// Renders a text on one line: line breaks and tabs become symbols, characters that would repaint
/// or hide become escapes, and a run of spaces that would push the rest out of sight is marked.
pub fn one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut spaces = 0;
    let flush = |spaces: &mut usize, out: &mut String| {
        match *spaces {
            0..=RUN => out.push_str(&" ".repeat(*spaces)),
            many => out.push_str(&format!(" ⟨{many} spaces⟩ ")),
        }
        *spaces = 0;
    };
    // Unlike `sanitise`, this removes no sequences: a command is shown with all it contains,
    // escaped.
    for (c, is_shown) in judged(text) {
        if c == ' ' {
            spaces += 1;
            continue;
        }
        flush(&mut spaces, &mut out);
        match c {
            '\n' => out.push('⏎'),
            '\t' => out.push('⇥'),
            c if is_shown => out.push(c),
            c => out.extend(c.escape_unicode()),
        }
    }
    flush(&mut spaces, &mut out);
    out
}

/// Renders a text of several lines for a permission request: characters that would repaint or hide
/// are written as escapes, and a run of spaces that would push the rest out of sight is marked, as
/// in [`one_line`]. Line breaks, tabs and indentation stay.
pub fn escaped(text: &str) -> String {
    if text.bytes().all(is_plain) && !text.contains(&" ".repeat(RUN + 1)) {
        return text.to_owned();
    }
    let lines: Vec<_> = text
        .split('\n')
        .map(|line| {
            let indent = line.bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count().min(INDENT);
            let tabs: Vec<_> = line[indent..].split('\t').map(one_line).collect();
            format!("{}{}", &line[..indent], tabs.join("\t"))
        })
        .collect();
    lines.join("\n")
}

/// Escapes characters that would repaint or hide, and changes nothing else.
pub(crate) fn escape_only(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (c, is_shown) in judged(text) {
        match is_shown {
            true => out.push(c),
            false => out.extend(c.escape_unicode()),
        }
    }
    out
}

/// Escapes every character of a JSON text that would repaint or hide; the JSON value stays the
/// same.
pub fn escaped_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match is_shown(c) {
            true => out.push(c),
            false => {
                c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")))
            }
        }
    }
    out
}

/// Returns the characters of a text, each with whether it is shown as it is.
fn judged(text: &str) -> impl Iterator<Item = (char, bool)> {
    let mut kept = String::new();
    let mut joins = Joins::default();
    text.chars().for_each(|c| joins.push(c, &mut kept));
    let mut at = 0;
    // What is kept is a part of the text, in its order. A joiner that was dropped can stand before
    // one that was kept only if they are equal.
    text.chars().map(move |c| {
        let is_kept = kept[at..].starts_with(c);
        if is_kept {
            at += c.len_utf8();
        }
        (c, is_kept)
    })
}

/// Returns whether a byte is harmless by itself: printable ASCII, a line feed or a tab.
pub(crate) fn is_plain(byte: u8) -> bool {
    byte == b'\n' || byte == b'\t' || (b' '..0x7f).contains(&byte)
}

/// Returns whether a character is visible: no control, bidirectional, zero-width or tag character.
fn is_shown(c: char) -> bool {
    match c {
        '\n' | '\t' => true,
        // A lone carriage return lets a line be overwritten; before a line feed it is not needed.
        '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' => false,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' => false,
        '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}' => false,
        _ => true,
    }
}

/// Keeps the invisible characters that change how the characters beside them look, where they do,
/// and drops all others: joiners inside words and emoji, and the tags of a flag. Source: UAX #31,
/// section 2.3, and UTS #51, section 1.4.9.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Joins {
    /// The last character that was kept.
    before: Option<char>,
    /// Characters that are kept if the next one shows that they join something.
    held: String,
}

/// Joins characters: the zero-width joiner.
const ZWJ: char = '\u{200d}';
/// Keeps characters apart: the zero-width non-joiner.
const ZWNJ: char = '\u{200c}';
/// The flag that tags follow.
const FLAG: char = '\u{1f3f4}';
/// The tag that ends the others.
const LAST_TAG: char = '\u{e007f}';
/// Maximum number of tags of a flag, without the last.
const TAGS: usize = 6;

impl Joins {
    /// Takes the next character of a text, and adds what is kept to `out`.
    fn push(&mut self, c: char, out: &mut String) {
        let is_joiner = matches!(c, ZWJ | ZWNJ);
        if is_joiner && self.held.is_empty() && self.before.is_some_and(|before| begins(before, c)) {
            self.held.push(c);
            return;
        }
        if self.before == Some(FLAG) && !self.held.starts_with([ZWJ, ZWNJ]) {
            if is_tag(c) && self.held.chars().count() < TAGS {
                self.held.push(c);
                return;
            }
            if c == LAST_TAG && !self.held.is_empty() {
                self.held.push(c);
                self.before = Some(c);
                out.push_str(&std::mem::take(&mut self.held));
                return;
            }
        }
        let held = std::mem::take(&mut self.held);
        if !is_shown(c) {
            return;
        }
        if let (Some(before), Some(joiner @ (ZWJ | ZWNJ))) = (self.before, held.chars().next())
            && joins(before, joiner, c)
        {
            out.push(joiner);
        }
        out.push(c);
        self.before = Some(c);
    }
}

/// Returns whether a joiner after this character may join something.
fn begins(before: char, joiner: char) -> bool {
    is_joined(before) || (joiner == ZWJ && ends_emoji(before))
}

fn joins(before: char, joiner: char, after: char) -> bool {
    (is_joined(before) && is_joined(after))
        || (joiner == ZWJ && ends_emoji(before) && after.is_emoji_char() && !after.is_ascii())
}

/// Returns whether a character can be the last one before the joiner of an emoji: an emoji, a skin
/// tone, or the selector of the coloured form.
fn ends_emoji(c: char) -> bool {
    c == '\u{fe0f}' || (c.is_emoji_char() && !c.is_ascii())
}

fn is_tag(c: char) -> bool {
    matches!(c, '\u{e0030}'..='\u{e0039}' | '\u{e0061}'..='\u{e007a}')
}

/// Returns whether a character is a letter or a mark of a script whose letters change their form
/// beside a joiner.
fn is_joined(c: char) -> bool {
    let is_of_script = matches!(c,
        // Arabic, Syriac, Thaana, N'Ko, Mandaic.
        '\u{600}'..='\u{8ff}'
        // The scripts of India, and those of Sri Lanka, Tibet, Myanmar.
        | '\u{900}'..='\u{dff}' | '\u{f00}'..='\u{109f}'
        // Khmer, Mongolian.
        | '\u{1780}'..='\u{18af}'
        // Balinese, Sundanese, Batak, Lepcha.
        | '\u{1b00}'..='\u{1c4f}'
        // Saurashtra, Javanese, Cham, Meetei Mayek.
        | '\u{a880}'..='\u{abff}'
        // Forms of Arabic letters.
        | '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefe}'
        // Further scripts of India and of Central Asia.
        | '\u{10a00}'..='\u{11fff}' | '\u{1e900}'..='\u{1e95f}');
    is_of_script
        && matches!(c.general_category_group(), GeneralCategoryGroup::Letter | GeneralCategoryGroup::Mark)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn s33_sequences_and_hidden_characters_are_taken_out() {
        for (given, expected) in [
            ("plain\ttext\n", "plain\ttext\n"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{1b}[2J\u{1b}[Hgone", "gone"),
            ("a\u{1b}]52;c;ZXZpbA==\u{7}b", "ab"),
            ("a\u{1b}]8;;http://evil\u{1b}\\link\u{1b}]8;;\u{1b}\\b", "alinkb"),
            ("a\u{1b}]0;title\u{9c}b", "ab"),
            ("\u{9b}31mx", "x"),
            ("\u{9d}52;c;x\u{7}y", "y"),
            ("\u{1b}Pq#0\u{1b}\\z", "z"),
            ("\u{1b}(Bx", "x"),
            ("safe\rEVIL", "safeEVIL"),
            ("a\u{8}\u{8}b", "ab"),
            ("abc\u{202e}txt.exe", "abctxt.exe"),
            ("zero\u{200b}width\u{feff}", "zerowidth"),
            ("tags\u{e0041}\u{e0042}", "tags"),
            ("\u{1b}]never ended\nthe next line", "\nthe next line"),
            ("é 漢 🙂", "é 漢 🙂"),
            // Joiners inside words and emoji stay.
            ("می\u{200c}خواهم", "می\u{200c}خواهم"),
            ("क्\u{200d}ष", "क्\u{200d}ष"),
            ("👩\u{200d}💻 ❤\u{fe0f}\u{200d}🔥", "👩\u{200d}💻 ❤\u{fe0f}\u{200d}🔥"),
            ("👩🏽\u{200d}🚀", "👩🏽\u{200d}🚀"),
            (
                "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}!",
                "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}!",
            ),
            // Elsewhere they hide.
            ("rm\u{200d}x a\u{200c}b", "rmx ab"),
            ("می\u{200c} خواهم\u{200c}", "می خواهم"),
            ("م\u{200c}\u{200c}خ", "مخ"),
            ("1\u{200d}2 👩\u{200d}a", "12 👩a"),
            ("🏴\u{e0067}\u{e0062}x", "🏴x"),
            ("🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e0067}\u{e0067}\u{e007f}", "🏴"),
        ] {
            assert_eq!(sanitise(given), expected, "{given:?}");
        }
    }

    #[test]
    fn s34_a_line_shows_what_would_hide() {
        assert_eq!(one_line("ls\nrm x"), "ls⏎rm x");
        assert_eq!(one_line(&format!("ls{}; rm x", " ".repeat(300))), "ls ⟨300 spaces⟩ ; rm x");
        assert_eq!(one_line("echo \u{1b}[8mx\u{202e}"), "echo \\u{1b}[8mx\\u{202e}");
        assert_eq!(one_line("a  b"), "a  b");
        assert_eq!(one_line("می\u{200c}خ a\u{200c}b"), "می\u{200c}خ a\\u{200c}b");
    }

    #[test]
    fn p12_what_is_asked_about_shows_what_would_hide() {
        for (given, expected) in [
            ("ls\n\tcat <<E\n          x\nE\n", "ls\n\tcat <<E\n          x\nE\n"),
            ("echo \u{1b}[8mx\u{202e}\u{200b}\r\nrm", "echo \\u{1b}[8mx\\u{202e}\\u{200b}\\u{d}\nrm"),
            ("a\tb\u{9b}2J\u{e0041}", "a\tb\\u{9b}2J\\u{e0041}"),
        ] {
            assert_eq!(escaped(given), expected, "{given:?}");
        }
        let far = " ".repeat(300);
        assert_eq!(escaped(&format!("ls{far};rm")), "ls ⟨300 spaces⟩ ;rm");
        assert!(escaped(&format!("ls\n{far}rm")).contains("spaces⟩ rm"));
    }

    proptest! {
        #[test]
        fn a_cut_anywhere_changes_nothing(
            text in "[ab\\n\u{7}\u{1b}\u{9b}\u{9c}\u{9d}\\[\\]P;0m\\\\\u{202e}é\u{200c}\u{200d}می👩💻]{0,40}",
            at in 0usize..40,
        ) {
            let cut = text.char_indices().map(|(index, _)| index).nth(at).unwrap_or(text.len());
            let mut sanitiser = Sanitiser::default();
            let pieces = sanitiser.push(&text[..cut]) + &sanitiser.push(&text[cut..]);
            prop_assert_eq!(&pieces, &sanitise(&text));
            prop_assert!(!pieces.chars().any(|c| c != '\n' && c.is_control()));
        }
    }
}
