//! Splits a prompt into tokens: words, quoted text, code blocks, patches and punctuation.

/// A token of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    /// Its kind.
    pub(crate) kind: Kind,
    /// Its start, as a byte offset.
    pub(crate) start: usize,
    /// Its end, as a byte offset.
    pub(crate) end: usize,
    /// The word, or the quoted text with escapes resolved, or the lines of the block without the
    /// last line end.
    pub(crate) text: String,
    /// The quoted text as written; paths are taken from here.
    pub(crate) raw: String,
}

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Text between spaces.
    Word,
    /// Text between quotes.
    Quoted,
    /// A code block.
    Fence,
    /// A block from `*** Begin Patch` to `*** End Patch`.
    Patch,
    /// A comma after a word.
    Comma,
    /// A colon after a word.
    Colon,
    /// A full stop, question mark or exclamation mark after a word.
    Stop,
    /// A semicolon.
    Semicolon,
    /// A line end. A list marker after it is skipped.
    Break,
}

impl Token {
    /// Returns whether it is literal text, which is never a keyword.
    pub(crate) fn is_literal(&self) -> bool {
        matches!(self.kind, Kind::Quoted | Kind::Fence | Kind::Patch)
    }

    /// Returns whether it is this word, ignoring case.
    pub(crate) fn is_word(&self, word: &str) -> bool {
        self.kind == Kind::Word && self.text.to_lowercase() == word
    }
}

/// Splits a prompt into tokens. Line ends must be `\n`. The error names the delimiter that is never
/// closed.
pub(crate) fn lex(source: &str) -> Result<Vec<Token>, String> {
    let mut lexer = Lexer { source, at: 0, tokens: Vec::new() };
    lexer.run()?;
    Ok(lexer.tokens)
}

const BEGIN_PATCH: &str = "*** Begin Patch";
const END_PATCH: &str = "*** End Patch";

struct Lexer<'a> {
    source: &'a str,
    at: usize,
    tokens: Vec<Token>,
}

impl<'a> Lexer<'a> {
    fn run(&mut self) -> Result<(), String> {
        let mut line_start = true;
        while let Some(next) = self.rest().chars().next() {
            if next == '\n' {
                self.push(Kind::Break, 1, String::new(), String::new());
                line_start = true;
            } else if next.is_whitespace() {
                self.at += next.len_utf8();
            } else if line_start && self.list_marker() {
                line_start = false;
            } else {
                self.token(line_start)?;
                line_start = false;
            }
        }
        Ok(())
    }

    fn rest(&self) -> &'a str {
        &self.source[self.at..]
    }

    fn push(&mut self, kind: Kind, length: usize, text: String, raw: String) {
        self.tokens.push(Token { kind, start: self.at, end: self.at + length, text, raw });
        self.at += length;
    }

    fn list_marker(&mut self) -> bool {
        let rest = self.rest();
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let marker = match rest[digits..].chars().next() {
            Some('.' | ')') if (1..=3).contains(&digits) => digits + 1,
            Some(bullet @ ('-' | '*' | '•')) if digits == 0 => bullet.len_utf8(),
            _ => return false,
        };
        let is_marker = rest[marker..].starts_with([' ', '\t']);
        if is_marker {
            self.at += marker;
        }
        is_marker
    }

    fn token(&mut self, line_start: bool) -> Result<(), String> {
        let rest = self.rest();
        if line_start && rest.starts_with(BEGIN_PATCH) {
            return self.patch();
        }
        if rest.starts_with("```") || rest.starts_with("~~~") {
            return self.fence();
        }
        let next = rest.chars().next().expect("the caller saw a character");
        if let Some(close) = closing(next) {
            return self.quoted(next, close);
        }
        self.word();
        Ok(())
    }

    fn patch(&mut self) -> Result<(), String> {
        let rest = self.rest();
        let mut length = 0;
        for line in rest.split_inclusive('\n') {
            if line.trim_end() == END_PATCH {
                length += line.trim_end().len();
                let text = rest[..length].to_owned();
                self.push(Kind::Patch, length, text.clone(), text);
                return Ok(());
            }
            length += line.len();
        }
        Err(format!("a patch begins with `{BEGIN_PATCH}` but has no line `{END_PATCH}`"))
    }

    fn fence(&mut self) -> Result<(), String> {
        let rest = self.rest();
        let mark = rest.chars().next().expect("the caller saw a fence");
        let width = rest.chars().take_while(|c| *c == mark).count();
        let fence = &rest[..width];
        let head = rest.find('\n').unwrap_or(rest.len());
        if let Some(inline) = rest[width..head].find(fence) {
            let text = rest[width..width + inline].to_owned();
            self.push(Kind::Quoted, width + inline + width, text.clone(), text);
            return Ok(());
        }
        let mut length = (head + 1).min(rest.len());
        let body = length;
        for line in rest[body..].split_inclusive('\n') {
            let closes = line.trim().len() >= width && line.trim().chars().all(|c| c == mark);
            if closes {
                let text = rest[body..length].strip_suffix('\n').unwrap_or(&rest[body..length]).to_owned();
                self.push(Kind::Fence, length + line.trim_end().len(), text.clone(), text);
                return Ok(());
            }
            length += line.len();
        }
        Err(format!("a code block begins with {fence} and is never closed"))
    }

    fn quoted(&mut self, open: char, close: char) -> Result<(), String> {
        let rest = self.rest();
        let body = &rest[open.len_utf8()..];
        let escapes = open == '"' || open == '“';
        let mut brackets = [0_i32; 3];
        let mut skip = false;
        for (index, c) in body.char_indices() {
            if skip {
                skip = false;
                continue;
            }
            match c {
                '\\' if escapes => skip = true,
                '(' => brackets[0] += 1,
                ')' => brackets[0] -= 1,
                '[' => brackets[1] += 1,
                ']' => brackets[1] -= 1,
                '{' => brackets[2] += 1,
                '}' => brackets[2] -= 1,
                _ => {}
            }
            if c == close && ends_here(&body[index + c.len_utf8()..], brackets) {
                let raw = body[..index].to_owned();
                let text = if escapes { unescape(&raw) } else { raw.clone() };
                self.push(Kind::Quoted, open.len_utf8() + index + close.len_utf8(), text, raw);
                self.mark();
                return Ok(());
            }
        }
        let shown: String = rest.chars().take(30).collect();
        Err(format!("the quote that begins at {} is never closed", shown.lines().next().unwrap_or_default()))
    }

    fn word(&mut self) {
        let rest = self.rest();
        let length = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let mut word = &rest[..length];
        if matches!(word, "," | ";" | ":") {
            self.mark();
            return;
        }
        let tail = word.chars().next_back().expect("a word has a character");
        let body = &word[..word.len() - tail.len_utf8()];
        let only_dots = body.chars().all(|c| c == '.');
        let is_glob = matches!(tail, '?' | '!') && body.contains(['*', '?', '[']);
        if mark_of(&tail.to_string()).is_some() && !only_dots && !body.ends_with('.') && !is_glob {
            word = body;
        }
        self.push(Kind::Word, word.len(), word.to_owned(), word.to_owned());
        if word.len() < length {
            self.mark();
        }
    }

    /// Consumes a punctuation mark right here, at the end of a word.
    fn mark(&mut self) {
        let rest = self.rest();
        let length = rest.find(char::is_whitespace).unwrap_or(rest.len());
        if let Some(kind) = mark_of(&rest[..length]) {
            self.push(kind, length, rest[..length].to_owned(), String::new());
        }
    }
}

fn mark_of(text: &str) -> Option<Kind> {
    match text {
        "," => Some(Kind::Comma),
        ":" => Some(Kind::Colon),
        ";" => Some(Kind::Semicolon),
        "." | "!" | "?" => Some(Kind::Stop),
        _ => None,
    }
}

fn closing(open: char) -> Option<char> {
    match open {
        '\'' | '"' | '`' => Some(open),
        '“' => Some('”'),
        '‘' => Some('’'),
        _ => None,
    }
}

/// Returns whether the quote sign before `after` closes the quote. An apostrophe or an inner quote
/// is followed by more text.
fn ends_here(after: &str, brackets: [i32; 3]) -> bool {
    let mut chars = after.chars();
    match chars.next() {
        None => true,
        Some(c) if c.is_whitespace() => true,
        Some(')') => brackets[0] == 0,
        Some(']') => brackets[1] == 0,
        Some('}') => brackets[2] == 0,
        Some(',' | ';' | '.' | ':' | '!' | '?') => chars.next().is_none_or(char::is_whitespace),
        Some(_) => false,
    }
}

fn unescape(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut chars = raw.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            text.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => text.push('\n'),
            Some('t') => text.push('\t'),
            Some(c @ ('\\' | '"' | '”')) => text.push(c),
            Some(other) => text.extend(['\\', other]),
            None => text.push('\\'),
        }
    }
    text
}
