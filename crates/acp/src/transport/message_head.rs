//! Scans the outermost structure of a JSON line in one pass over its bytes, without parsing it into
//! a value.
//!
//! A line may be too long to keep, nest too deeply to parse, or contain something that the SDK
//! rejects. Its id is found nevertheless, so that the error response reaches the request.

/// Bytes kept of a member's name. A longer one is none of those known here.
const KEPT: usize = 1024;
/// Bytes kept of the id of a line that is not kept itself.
const KEPT_ID: usize = 64 * 1024;

/// The members of a message that decide how it is handled, as far as they have been read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct MessageHead {
    /// Maximum nesting depth of arrays and objects.
    pub(crate) depth: usize,
    /// Whether the outermost value is an object.
    pub(crate) is_object: bool,
    /// The raw text of the member `id`, and its offset in the line.
    pub(crate) id: Option<(String, usize)>,
    /// Whether there is a member `id`, regardless of its value.
    pub(crate) has_id: bool,
    /// The other members.
    pub(crate) members: Members,
    /// Whether there is a number with an exponent or with more than 300 digits, which a parser may
    /// reject.
    pub(crate) unusual: bool,
}

/// The members of a message other than its id.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Members {
    /// The raw text of `jsonrpc`.
    pub(crate) version: Option<String>,
    /// The first byte of the value of `method`.
    pub(crate) method: Option<u8>,
    /// The first byte of the value of `params`.
    pub(crate) params: Option<u8>,
    /// Whether there is a member `result`.
    pub(crate) result: bool,
    /// Whether there is a member `error`.
    pub(crate) error: bool,
}

/// The members of the outermost object that are recognised.
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
    /// Returns the member with a name, given as it appears in the line, without quotes.
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

/// Scans a line incrementally. Never fails: invalid JSON produces some head as well.
#[derive(Debug)]
pub(crate) struct Scanner {
    head: MessageHead,
    /// Maximum number of bytes of the id; a longer one cannot be read.
    id_bytes: usize,
    /// The offset of the next byte in the line.
    at: usize,
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// In the outermost object: the member whose value follows or is being read.
    member: Option<Member>,
    /// Whether the value of that member has begun.
    begun: bool,
    /// The text being read (a member's name, or a short value), as far as it is kept; `from` is its
    /// offset.
    kept: Vec<u8>,
    from: usize,
    digits: usize,
    last: u8,
}

impl Default for Scanner {
    fn default() -> Self {
        Self::with_ids_of(KEPT_ID)
    }
}

impl Scanner {
    fn with_ids_of(id_bytes: usize) -> Self {
        Self {
            head: MessageHead::default(),
            id_bytes,
            at: 0,
            depth: 0,
            in_string: false,
            escaped: false,
            member: None,
            begun: false,
            kept: Vec::new(),
            from: 0,
            digits: 0,
            last: 0,
        }
    }

    /// Scans the next bytes of the line.
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

    /// Returns the head of the line.
    pub(crate) fn finish(mut self) -> MessageHead {
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
                if self.depth == 0 && self.head == MessageHead::default() {
                    self.head.is_object = byte == b'{';
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

    /// Starts a name or a value with this byte, unless it has started already.
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
                    Member::Method => self.head.members.method = Some(byte),
                    Member::Params => self.head.members.params = Some(byte),
                    Member::Result => self.head.members.result = true,
                    Member::Error => self.head.members.error = true,
                    Member::Id | Member::Version if byte == b'"' => self.kept.push(byte),
                    _ => {}
                }
            }
        }
    }

    fn keeps(&self) -> bool {
        self.depth == 1 && self.kept.len() < self.most()
    }

    /// Returns the maximum number of bytes kept of what is being read.
    fn most(&self) -> usize {
        match self.member {
            Some(Member::Id) => self.id_bytes,
            None | Some(Member::Version) => KEPT,
            Some(_) => 0,
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.keeps() {
            self.kept.push(byte);
        }
    }

    /// Ends the value of a member of the outermost object. Of duplicate members the last one
    /// counts, as in common parsers.
    fn end_of_value(&mut self) {
        let kept = std::mem::take(&mut self.kept);
        let whole = kept.len() < self.most() && self.begun && !self.in_string;
        let text = String::from_utf8(kept).ok().filter(|text| whole && !text.is_empty());
        match self.member.take() {
            Some(Member::Id) => {
                self.head.has_id = true;
                self.head.id = text.map(|text| (text, self.from));
            }
            Some(Member::Version) => self.head.members.version = text,
            _ => {}
        }
        self.begun = false;
    }
}

/// The kind of an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IdKind {
    /// A string, a 64-bit integer or null: the SDK accepts it.
    Plain,
    /// An integer that does not fit into 64 bits.
    Huge,
    /// A fraction, or neither a number nor a string.
    Wrong,
}

impl MessageHead {
    /// Scans a whole line.
    pub(crate) fn of(line: &str) -> Self {
        // The whole line is kept, so its id may have any length.
        let mut scanner = Scanner::with_ids_of(usize::MAX);
        scanner.push(line.as_bytes());
        scanner.finish()
    }

    /// Returns whether it is a response: no method, and a result or an error.
    pub(crate) fn is_response(&self) -> bool {
        self.members.method.is_none() && (self.members.result || self.members.error)
    }

    /// Returns the kind of its id, if it has one.
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
        MessageHead::of(line).id.map(|(text, from)| {
            assert!(line[from..].starts_with(&text), "{line}");
            text
        })
    }

    #[test]
    fn an_id_of_any_length_is_read() {
        let id = format!("\"{}\"", "x".repeat(1_000_000));
        let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#);
        assert_eq!(MessageHead::of(&line).id.map(|(text, _)| text), Some(id));
        let mut scanner = Scanner::default();
        scanner.push(line.as_bytes());
        assert_eq!(scanner.finish().id, None, "of a line that is not kept, a long id is not kept either");
    }

    #[test]
    fn scans_depth_outside_strings_and_the_members() {
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
            let head = MessageHead::of(line);
            assert_eq!((head.depth, head.members.result && head.members.error), (depth, both), "{line}");
        }
        assert_eq!(MessageHead::of(&"[".repeat(100_000)).depth, 100_000);
    }

    #[test]
    fn an_id_is_found_at_any_position() {
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
    fn a_line_scanned_in_pieces_gives_the_same_head() {
        let line = r#"{"jsonrpc":"2.0","params":{"a":1e9},"method":"x","id":"ü\n"}"#;
        let mut scanner = Scanner::default();
        line.as_bytes().chunks(1).for_each(|piece| scanner.push(piece));
        let head = scanner.finish();
        assert_eq!(head, MessageHead::of(line));
        assert_eq!(
            (head.members.method, head.members.params, head.members.version.as_deref()),
            (Some(b'"'), Some(b'{'), Some("\"2.0\""))
        );
        assert!(head.unusual && !MessageHead::of(r#"{"true":false,"e1":"1e5"}"#).unusual);
    }

    #[test]
    fn id_kinds_are_distinguished() {
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
            assert_eq!(MessageHead::of(&format!("{{\"id\":{text}}}")).id_kind(), Some(kind), "{text}");
        }
        assert_eq!(MessageHead::of("{}").id_kind(), None);
    }
}
