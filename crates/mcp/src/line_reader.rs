//! Lines of bounded length, from an untrusted writer.

use std::io;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

/// Bytes per read: the capacity of a pipe.
const BUFFER: usize = 64 * 1024;

/// Reads lines of bounded length.
pub(crate) struct LineReader {
    input: BufReader<Box<dyn AsyncRead + Send + Unpin>>,
    line: Vec<u8>,
    limit: usize,
    /// Whether the rest of a line that was too long must be skipped.
    skipping: bool,
}

/// The result of reading one line.
#[derive(Debug)]
pub(crate) enum Line {
    /// A complete line, including its line end.
    Whole(Vec<u8>),
    /// A line longer than the limit; the next call continues after it.
    TooLong,
    /// The end of the input. An unterminated last line is dropped.
    End,
}

impl LineReader {
    /// Reads from `input`, with at most `limit` bytes per line.
    pub(crate) fn new(input: Box<dyn AsyncRead + Send + Unpin>, limit: usize) -> Self {
        Self { input: BufReader::with_capacity(BUFFER, input), line: Vec::new(), limit, skipping: false }
    }

    /// Returns the next line. Cancel-safe: bytes already read are kept.
    pub(crate) async fn next(&mut self) -> io::Result<Line> {
        loop {
            let read = self.input.fill_buf().await?;
            if read.is_empty() {
                return Ok(Line::End);
            }
            let end = read.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(read.len(), |at| at + 1);
            let fits = self.line.len() + taken <= self.limit;
            if fits && !self.skipping {
                self.line.extend_from_slice(&read[..taken]);
            }
            self.input.consume(taken);
            match (end, self.skipping) {
                (Some(_), true) => self.skipping = false,
                (None, true) => {}
                (_, false) if !fits => {
                    self.line = Vec::new();
                    self.skipping = end.is_none();
                    return Ok(Line::TooLong);
                }
                (Some(_), false) => return Ok(Line::Whole(std::mem::take(&mut self.line))),
                (None, false) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_too_long_line_is_skipped_and_reading_continues() {
        let text = "one\n".to_owned() + &"x".repeat(30_000) + "\ntwo\n" + &"y".repeat(11) + "\nthree\nrest";
        let mut reader = LineReader::new(Box::new(io::Cursor::new(text.into_bytes())), 10);
        let mut read = Vec::new();
        loop {
            match reader.next().await.unwrap() {
                Line::Whole(line) => read.push(String::from_utf8(line).unwrap()),
                Line::TooLong => read.push("too long".to_owned()),
                Line::End => break,
            }
        }
        assert_eq!(read, ["one\n", "too long", "two\n", "too long", "three\n"]);
    }
}
