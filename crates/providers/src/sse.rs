//! Splits a byte stream into server-sent events.
//!
//! Chunks may be split anywhere: within a character, between CR and LF, within a field name. Fields
//! other than `data:` (comments, `event:`, `id:`, `retry:`, unknown ones) are ignored. Invalid
//! UTF-8 and lone UTF-16 surrogates are replaced, so that one bad character costs one character.

use crate::limits::MAX_EVENT_BYTES;

/// A line, or all lines of one event together, exceeded [`MAX_EVENT_BYTES`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct EventTooLong;

/// The parser state between two chunks.
#[derive(Debug, Default)]
pub(crate) struct SseSplitter {
    /// The beginning of an incomplete line.
    line: Vec<u8>,
    /// The `data:` lines of the event so far, joined by line feeds.
    data: Vec<u8>,
    has_data: bool,
    /// The last chunk ended with CR; an LF at the start of the next one belongs to it.
    after_cr: bool,
    started: bool,
}

impl SseSplitter {
    /// Parses a chunk and calls `on_data` with the data of each completed event. Stops at the first
    /// error.
    pub(crate) fn feed<E: From<EventTooLong>>(
        &mut self,
        chunk: &[u8],
        mut on_data: impl FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut rest = chunk;
        if std::mem::take(&mut self.after_cr) {
            match rest.first() {
                Some(b'\n') => rest = &rest[1..],
                Some(_) => {}
                None => self.after_cr = true,
            }
        }
        while let Some(end) = memchr::memchr2(b'\n', b'\r', rest) {
            let (line, ending) = rest.split_at(end);
            rest = match ending {
                [b'\r', b'\n', after @ ..] => after,
                [b'\r'] => {
                    self.after_cr = true;
                    &[]
                }
                _ => &ending[1..],
            };
            if self.line.is_empty() {
                self.end_line(line, &mut on_data)?;
            } else {
                let mut whole = std::mem::take(&mut self.line);
                whole.extend_from_slice(line);
                self.end_line(&whole, &mut on_data)?;
                whole.clear();
                self.line = whole;
            }
        }
        self.line.extend_from_slice(rest);
        if self.line.len() + self.data.len() > MAX_EVENT_BYTES { Err(EventTooLong.into()) } else { Ok(()) }
    }

    /// Ends the stream. An event without its final blank line still counts: some servers omit it,
    /// and the data itself shows whether it is complete.
    pub(crate) fn finish<E: From<EventTooLong>>(
        &mut self,
        mut on_data: impl FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.end_line(&line, &mut on_data)?;
        }
        self.dispatch(&mut on_data)
    }

    fn end_line<E: From<EventTooLong>>(
        &mut self,
        line: &[u8],
        on_data: &mut impl FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        let line = if std::mem::replace(&mut self.started, true) {
            line
        } else {
            line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line)
        };
        if line.is_empty() {
            return self.dispatch(on_data);
        }
        let Some(value) = line.strip_prefix(b"data") else { return Ok(()) };
        let value = match value {
            [] => value,
            [b':', b' ', value @ ..] | [b':', value @ ..] => value,
            _ => return Ok(()),
        };
        if std::mem::replace(&mut self.has_data, true) {
            self.data.push(b'\n');
        }
        self.data.extend_from_slice(value);
        if self.data.len() > MAX_EVENT_BYTES { Err(EventTooLong.into()) } else { Ok(()) }
    }

    fn dispatch<E>(&mut self, on_data: &mut impl FnMut(&str) -> Result<(), E>) -> Result<(), E> {
        if !std::mem::take(&mut self.has_data) {
            return Ok(());
        }
        // Validation by the standard library is the fast path; invalid data is rare and is
        // repaired.
        let result = match std::str::from_utf8(&self.data) {
            Ok(data) => on_data(&agent::without_halves(data)),
            Err(_not_utf8) => on_data(&agent::without_halves(&String::from_utf8_lossy(&self.data))),
        };
        self.data.clear();
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(bytes: &[u8], size: usize) -> Vec<String> {
        let mut splitter = SseSplitter::default();
        let mut events = Vec::new();
        let mut push = |data: &str| {
            events.push(data.to_owned());
            Ok::<(), EventTooLong>(())
        };
        for chunk in bytes.chunks(size) {
            splitter.feed(chunk, &mut push).unwrap();
        }
        splitter.finish(&mut push).unwrap();
        events
    }

    #[test]
    fn events_do_not_depend_on_chunk_boundaries() {
        let cases: &[(&str, &[&str])] = &[
            ("data: a\n\ndata: b\n\n", &["a", "b"]),
            ("data: ä€😀\r\n\r\ndata:b\r\n\r\n", &["ä€😀", "b"]),
            ("data: a\r\rdata: b\r\r", &["a", "b"]),
            ("\u{feff}data: a\n\n", &["a"]),
            (": ping\nid: 7\nretry: 10\nevent: x\ndata: a\ndata: b\n\n", &["a\nb"]),
            ("data: a\n\n\n\ndata\n\ndatax: no\n\n", &["a", ""]),
            ("data: a\n\ndata: without an end", &["a", "without an end"]),
            ("event: only\n\n", &[]),
        ];
        for (text, expected) in cases {
            for size in 1..=text.len() {
                assert_eq!(split(text.as_bytes(), size), *expected, "{text:?} cut every {size} bytes");
            }
        }
        assert_eq!(split(b"data: a\xffb\n\n", 4), ["a\u{fffd}b"]);
    }

    #[test]
    fn an_endless_line_is_bounded() {
        let mut splitter = SseSplitter::default();
        let chunk = vec![b'x'; 1024 * 1024];
        let failed = (0..17).find_map(|_| splitter.feed(&chunk, |_| Ok::<(), EventTooLong>(())).err());
        assert_eq!(failed, Some(EventTooLong));
    }
}
