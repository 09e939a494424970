//! What a line of JSON looks like from outside, found in one pass over its bytes and without
//! building it.
//!
//! A line may be too long to be kept, nest too deeply to be built, or hold what the library
//! refuses. Its id is found all the same, so that the error reaches the request it belongs to.

/// Bytes of a member's name, or of the id, that are kept. What is longer is no name that is known
/// here, and no id that can be read.
const KEPT: usize = 1024;

/// The members of a message that decide what becomes of it, as far as they have been read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Head {
    /// How deeply arrays and objects nest.
    pub(crate) depth: usize,
    /// The outermost value is an object.
    pub(crate) is_object: bool,
    /// The outermost value is an array.
    pub(crate) is_array: bool,
    /// The text of the member `id`, as it stands in the line, and where it begins.
    pub(crate) id: Option<(String, usize)>,
    /// Whether there is a member `id`, whatever it holds.
    pub(crate) has_id: bool,
    /// The text of the member `jsonrpc`.
    pub(crate) version: Option<String>,
    /// The first byte of the member `method`.
    pub(crate) method: Option<u8>,
    /// The first byte of the member `params`.
    pub(crate) params: Option<u8>,
    /// Whether there is a `result`.
    pub(crate) result: bool,
    /// Whether there is an `error`.
    pub(crate) error: bool,
    /// There is a number with an exponent or of very many digits, which a parser may still refuse.
    pub(crate) unusual: bool,
}

/// The members of the outermost object that are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Member {
    Id,
    Version,
    Method,
    Params,
    Result,
    Error,
    Other,
}

impl Member {
    /// By its name as it stands in the line, without the quotes.
    fn of(name: &[u8]) -> Self {
        let unescaped;
        let name = if name.contains(&b'\\') {
            let quoted = [b"\"", name, b"\""].concat();
            unescaped = serde_json::from_slice::<String>(&quoted).unwrap_or_default();
            unescaped.as_bytes()
        } else {
            name
        };
        match name {
            b"id" => Self::Id,
            b"jsonrpc" => Self::Version,
            b"method" => Self::Method,
            b"params" => Self::Params,
            b"result" => Self::Result,
            b"error" => Self::Error,
            _ => Self::Other,
        }
    }
}

/// Reads a line, a piece at a time. Never fails: what is no JSON gives some head too.
#[derive(Debug, Default)]
pub(crate) struct Scanner {
    head: Head,
    /// Where in the line the next byte is.
    at: usize,
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// In the outermost object: the member whose value comes or is being read.
    member: Option<Member>,
    /// The value of that member has begun.
    begun: bool,
    /// What is kept of the text being read: a member's name, or a short value; where it begins.
    kept: Vec<u8>,
    from: usize,
    digits: usize,
    last: u8,
}

impl Scanner {
    /// Reads on.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let [byte, ..] = rest {
            let plain = self.in_string && !self.escaped && !self.keeps();
            let skipped = match plain {
                true => rest.iter().position(|byte| matches!(byte, b'"' | b'\\')).unwrap_or(rest.len()),
                false => 0,
            };
            if skipped == 0 {
                self.byte(*byte);
                self.last = *byte;
            }
            let read = skipped.max(1);
            self.at += read;
            rest = &rest[read..];
        }
    }

    /// What was found.
    pub(crate) fn finish(mut self) -> Head {
        if self.depth == 1 {
            self.end_of_value();
        }
        self.head
    }

    fn byte(&mut self, byte: u8) {
        if self.in_string {
            return self.byte_of_string(byte);
        }
        let outermost = self.depth == 1 && self.head.is_object;
        match byte {
            b'"' => {
                self.in_string = true;
                self.begin(byte);
            }
            b'[' | b'{' => {
                if self.depth == 0 && self.head == Head::default() {
                    self.head.is_object = byte == b'{';
                    self.head.is_array = byte == b'[';
                } else {
                    self.begin(byte);
                }
                self.depth += 1;
                self.head.depth = self.head.depth.max(self.depth);
            }
            b']' | b'}' => {
                if outermost {
                    self.end_of_value();
                }
                self.depth = self.depth.saturating_sub(1);
            }
            b',' if outermost => self.end_of_value(),
            b':' if outermost && self.member.is_none() => {
                let name = self.kept.strip_prefix(b"\"").and_then(|name| name.strip_suffix(b"\""));
                self.member = Some(name.map_or(Member::Other, Member::of));
                self.begun = false;
                self.kept.clear();
            }
            byte if byte.is_ascii_whitespace() => {}
            byte => {
                self.begin(byte);
                self.keep(byte);
                self.number(byte);
            }
        }
    }

    fn byte_of_string(&mut self, byte: u8) {
        self.keep(byte);
        if self.escaped {
            self.escaped = false;
        } else if byte == b'\\' {
            self.escaped = true;
        } else if byte == b'"' {
            self.in_string = false;
        }
    }

    fn number(&mut self, byte: u8) {
        self.digits = if byte.is_ascii_digit() { self.digits + 1 } else { 0 };
        let exponent = matches!(byte, b'e' | b'E') && (self.last.is_ascii_digit() || self.last == b'.');
        self.head.unusual |= exponent || self.digits > 300;
    }

    /// A name or a value begins with this byte, unless it has begun already.
    fn begin(&mut self, byte: u8) {
        if self.depth != 1 || !self.head.is_object || self.begun {
            return;
        }
        self.kept.clear();
        self.from = self.at;
        match self.member {
            None => self.kept.push(byte),
            Some(member) => {
                self.begun = true;
                match member {
                    Member::Method => self.head.method = Some(byte),
                    Member::Params => self.head.params = Some(byte),
                    Member::Result => self.head.result = true,
                    Member::Error => self.head.error = true,
                    Member::Id | Member::Version if byte == b'"' => self.kept.push(byte),
                    _ => {}
                }
            }
        }
    }

    fn keeps(&self) -> bool {
        let wanted = matches!(self.member, None | Some(Member::Id | Member::Version));
        wanted && self.depth == 1 && self.kept.len() < KEPT
    }

    fn keep(&mut self, byte: u8) {
        if self.keeps() {
            self.kept.push(byte);
        }
    }

    /// The value of a member of the outermost object has ended. Of members that are there twice,
    /// the last counts, as for every parser.
    fn end_of_value(&mut self) {
        let kept = std::mem::take(&mut self.kept);
        let whole = kept.len() < KEPT && self.begun && !self.in_string;
        let text = String::from_utf8(kept).ok().filter(|text| whole && !text.is_empty());
        match self.member.take() {
            Some(Member::Id) => {
                self.head.has_id = true;
                self.head.id = text.map(|text| (text, self.from));
            }
            Some(Member::Version) => self.head.version = text,
            _ => {}
        }
        self.begun = false;
    }
}

/// What an id is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IdKind {
    /// A string, an integer of 64 bits, or null: the library takes it as it is.
    Plain,
    /// An integer of more digits than that.
    Huge,
    /// A fraction, or no number and no string.
    Wrong,
}

impl Head {
    /// Of a whole line.
    pub(crate) fn of(line: &str) -> Self {
        let mut scanner = Scanner::default();
        scanner.push(line.as_bytes());
        scanner.finish()
    }

    /// Whether it is a response: without a method, and with a result or an error.
    pub(crate) fn is_response(&self) -> bool {
        self.method.is_none() && (self.result || self.error)
    }

    /// What its id is, if it has one.
    pub(crate) fn id_kind(&self) -> Option<IdKind> {
        let (text, _) = self.id.as_ref()?;
        let digits = text.strip_prefix('-').unwrap_or(text);
        Some(match text.as_bytes() {
            [b'"', .., b'"'] if serde_json::from_str::<String>(text).is_ok() => IdKind::Plain,
            b"null" => IdKind::Plain,
            _ if text.parse::<i64>().is_ok() => IdKind::Plain,
            _ if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => IdKind::Huge,
            _ => IdKind::Wrong,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(line: &str) -> Option<String> {
        Head::of(line).id.map(|(text, from)| {
            assert!(line[from..].starts_with(&text), "{line}");
            text
        })
    }

    #[test]
    fn sees_depth_outside_strings_and_which_members_there_are() {
        for (line, depth, both) in [
            ("1", 0, false),
            (r#"{"a":[[1],{"b":2}]}"#, 3, false),
            (r#"{"a":"[[[[\"[["}"#, 1, false),
            (r#"{"result":1, "error" : {}}"#, 2, true),
            (r#"{"a":{"result":1,"error":2}}"#, 2, false),
            (r#"{"result":"error"}"#, 1, false),
            (r#"{"a":"unterminated"#, 1, false),
            (r#""\"#, 0, false),
        ] {
            let head = Head::of(line);
            assert_eq!((head.depth, head.result && head.error), (depth, both), "{line}");
        }
        assert_eq!(Head::of(&"[".repeat(100_000)).depth, 100_000);
    }

    #[test]
    fn an_id_is_found_wherever_it_stands() {
        for (line, expected) in [
            (r#"{"jsonrpc":"2.0","id":7,"method":"x"}"#, Some("7")),
            (r#"{"method":"x","params":{"id":1,"a":[{"id":2}]},"id" : "a\"b" }"#, Some(r#""a\"b""#)),
            (r#"{"\u0069d":-3}"#, Some("-3")),
            (r#"{"id":1,"id":2}"#, Some("2")),
            (r#"{"id":null}"#, Some("null")),
            (r#"{"id":18446744073709551616}"#, Some("18446744073709551616")),
            (r#"{"id":[1]}"#, None),
            (r#"{"id":{"id":1}}"#, None),
            (r#"{"a":"id","b":1}"#, None),
            (r#"[{"id":1}]"#, None),
            (r#"{"id":"not ended"#, None),
            (r#"{"id":8,"params":"not ended"#, Some("8")),
            ("", None),
        ] {
            assert_eq!(id(line).as_deref(), expected, "{line}");
        }
        let long = format!(r#"{{"params":"{}","id":5}}"#, "x".repeat(10_000));
        assert_eq!(id(&long).as_deref(), Some("5"));
    }

    #[test]
    fn a_line_in_pieces_is_the_same_line() {
        let line = r#"{"jsonrpc":"2.0","params":{"a":1e9},"method":"x","id":"ü\n"}"#;
        let mut scanner = Scanner::default();
        line.as_bytes().chunks(1).for_each(|piece| scanner.push(piece));
        let head = scanner.finish();
        assert_eq!(head, Head::of(line));
        assert_eq!(
            (head.method, head.params, head.version.as_deref()),
            (Some(b'"'), Some(b'{'), Some("\"2.0\""))
        );
        assert!(head.unusual && !Head::of(r#"{"true":false,"e1":"1e5"}"#).unusual);
    }

    #[test]
    fn ids_are_told_apart() {
        for (text, kind) in [
            ("7", IdKind::Plain),
            ("-7", IdKind::Plain),
            ("\"a\"", IdKind::Plain),
            ("null", IdKind::Plain),
            ("18446744073709551616", IdKind::Huge),
            ("-9223372036854775809", IdKind::Huge),
            ("1.5", IdKind::Wrong),
            ("1e3", IdKind::Wrong),
            ("true", IdKind::Wrong),
        ] {
            assert_eq!(Head::of(&format!("{{\"id\":{text}}}")).id_kind(), Some(kind), "{text}");
        }
        assert_eq!(Head::of("{}").id_kind(), None);
    }
}
