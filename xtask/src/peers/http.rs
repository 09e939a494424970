//! The part of an HTTP/1.1 server that a model server needs: request bodies, chunked responses,
//! persistent connections.

use anyhow::{Context, Result, bail};
use std::io::{BufRead, Read, Write};

/// The largest request body, in bytes.
const BODY_LIMIT: usize = 64 << 20;

/// A request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// Method and path, such as `POST /v1/chat/completions`.
    pub(crate) line: String,
    /// The headers in order, with trimmed values.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    /// Returns whether the client wants the connection closed after the response.
    pub(crate) fn asks_to_close(&self) -> bool {
        self.headers.iter().any(|(name, value)| {
            name.eq_ignore_ascii_case("connection") && value.eq_ignore_ascii_case("close")
        })
    }
}

/// Reads one request; `None` if the client has closed the connection.
pub(crate) fn read_request(from: &mut impl BufRead) -> Result<Option<Request>> {
    let mut line = String::new();
    if from.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let line = line.trim_end().trim_end_matches(" HTTP/1.1").to_owned();
    let (mut length, mut chunked, mut headers) = (0, false, Vec::new());
    loop {
        let mut header = String::new();
        if from.read_line(&mut header)? == 0 {
            bail!("the connection closed in the middle of a request's headers");
        }
        if header.trim_end().is_empty() {
            break;
        }
        let (name, value) = header.split_once(':').with_context(|| format!("not a header: {header:?}"))?;
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().context("a content-length that is not a number")?;
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            chunked = value.trim().eq_ignore_ascii_case("chunked");
        }
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
    let body = if chunked { read_chunks(from)? } else { read_exactly(from, length)? };
    Ok(Some(Request { line, headers, body }))
}

/// Reads the body of a chunked message to its end.
pub(crate) fn read_chunks(from: &mut impl BufRead) -> Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut size = String::new();
        from.read_line(&mut size)?;
        let size = usize::from_str_radix(size.trim(), 16).context("a chunk without a size")?;
        body.extend(read_exactly(from, size.saturating_add(2))?);
        body.truncate(body.len() - 2);
        if size == 0 {
            return Ok(body);
        }
    }
}

fn read_exactly(from: &mut impl Read, length: usize) -> Result<Vec<u8>> {
    if length > BODY_LIMIT {
        bail!("a body of {length} bytes is over the limit of {BODY_LIMIT}");
    }
    let mut body = vec![0; length];
    from.read_exact(&mut body)?;
    Ok(body)
}

/// Starts a response of server-sent events, to be followed by chunks.
pub(crate) fn write_event_stream_head(to: &mut impl Write) -> std::io::Result<()> {
    to.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
}

/// Writes one chunk of a response; an empty chunk ends it.
pub(crate) fn write_chunk(to: &mut impl Write, data: &str) -> std::io::Result<()> {
    write!(to, "{:x}\r\n{data}\r\n", data.len())
}

/// Writes a complete JSON response.
pub(crate) fn write_json(to: &mut impl Write, status: &str, json: &str) -> std::io::Result<()> {
    write!(
        to,
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{json}",
        json.len()
    )?;
    to.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_follow_each_other_on_one_connection() {
        let mut from =
            &b"POST /a HTTP/1.1\r\nContent-Length: 2\r\n\r\nhiGET /b HTTP/1.1\r\nhost: x\r\n\r\n"[..];
        let first = read_request(&mut from).unwrap().unwrap();
        let headers = vec![("Content-Length".to_owned(), "2".to_owned())];
        assert_eq!(first, Request { line: "POST /a".to_owned(), headers, body: b"hi".to_vec() });
        assert_eq!(read_request(&mut from).unwrap().unwrap().line, "GET /b");
        assert_eq!(read_request(&mut from).unwrap(), None);
    }

    #[test]
    fn a_chunked_body_is_assembled() {
        let mut from =
            &b"POST /a HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n1\r\n!\r\n0\r\n\r\n"[..];
        assert_eq!(read_request(&mut from).unwrap().unwrap().body, b"hi!");
    }

    #[test]
    fn half_a_request_is_an_error() {
        assert!(read_request(&mut &b"POST /a HTTP/1.1\r\ncontent-length: 9\r\n\r\nhi"[..]).is_err());
        assert!(read_request(&mut &b"POST /a HTTP/1.1\r\nhost: x\r\n"[..]).is_err());
    }

    #[test]
    fn chunks_carry_their_size_in_hexadecimal() {
        let mut to = Vec::new();
        write_chunk(&mut to, "sixteen letters.").unwrap();
        write_chunk(&mut to, "").unwrap();
        assert_eq!(to, b"10\r\nsixteen letters.\r\n0\r\n\r\n");
    }
}
