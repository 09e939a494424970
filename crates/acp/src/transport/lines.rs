//! The incoming side: splits bytes into lines that the SDK accepts.
//!
//! The SDK ends the connection at the first line that is not UTF-8, buffers lines without a limit
//! and echoes invalid ones whole. This reader precedes it and passes on only what the SDK can read.
//! A rejected line becomes a request to a reserved method with the line's id (null if none can be
//! read); the dispatcher answers it with the error. So the error response keeps its place among the
//! others, and there is only one output path.

use super::{
    ids::{self, SECRET},
    message_head::{IdKind, MessageHead, Scanner},
};
use crate::limits::{JSON_DEPTH, KEPT_LINE_BYTES, READ_BYTES};
use futures::{Stream, stream};
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use std::{borrow::Cow, io, sync::LazyLock};
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// The method of requests that replace rejected lines. A client cannot call it, because it does not
/// know the name.
static BAD_LINE: LazyLock<String> = LazyLock::new(|| format!("_tiller/bad_line/{}", *SECRET));

/// Returns whether a method is that of a rejected line.
pub(crate) fn is_bad_line(method: &str) -> bool {
    method == *BAD_LINE
}

/// A line from the client, or the request that replaces a rejected one.
#[derive(Debug)]
pub(crate) struct IncomingLine {
    /// The text of the line.
    pub(crate) text: String,
    /// The scanned head of the line; `None` for a replacement.
    head: Option<MessageHead>,
}

impl IncomingLine {
    /// Returns the line as the SDK accepts it: an invalid message becomes a bad-line request.
    pub(crate) fn message(self) -> String {
        let Some(head) = &self.head else { return self.text };
        match defect(head) {
            Some((code, message)) => bad_line(code, message, head),
            None => ids::with_sdk_id(self.text, head),
        }
    }

    /// Returns whether it is a request or a notification in some dialect, so that it can identify
    /// the dialect.
    pub(crate) fn is_message(&self) -> bool {
        self.head.as_ref().is_some_and(|head| head.is_object && head.members.method == Some(b'"'))
    }

    /// Returns the error response to a line that is not a message, for use while the SDK is not
    /// running yet.
    pub(crate) fn refusal(self) -> String {
        #[derive(serde::Deserialize)]
        struct Bad {
            id: Value,
            params: Value,
        }
        let bad = match defect_or_bare_value(&self) {
            Some((code, message)) => bad_line(code, message, &self.head.unwrap_or_default()),
            None => self.text,
        };
        let answer = serde_json::from_str::<Bad>(&bad)
            .map(|bad| json!({ "jsonrpc": "2.0", "id": bad.id, "error": bad.params }));
        answer.map(|answer| answer.to_string()).unwrap_or_default()
    }
}

fn defect_or_bare_value(read: &IncomingLine) -> Option<(i32, &'static str)> {
    let head = read.head.as_ref()?;
    Some(defect(head).unwrap_or((-32600, "Invalid request")))
}

/// Reads lines of at most `cap` bytes from `reader`; the stream ends at the end of the input or at
/// a read error.
pub(crate) fn incoming(
    reader: impl AsyncRead + Send + Unpin + 'static,
    cap: usize,
) -> impl Stream<Item = IncomingLine> + Send + 'static {
    let lines = LineReader { reader: BufReader::with_capacity(READ_BYTES, reader), buffer: Vec::new(), cap };
    stream::unfold(lines, |mut lines| async move {
        loop {
            match lines.next().await {
                Ok(Some(Line::Whole(line))) => {
                    if let Some(read) = accept(line) {
                        return Some((read, lines));
                    }
                }
                Ok(Some(Line::TooLong(size, head))) => {
                    let message =
                        format!("the line is longer than {} bytes ({size} bytes); discarded", lines.cap);
                    // A response gets no response, not even an error.
                    if !head.is_response() {
                        return Some((rejected_line(-32600, &message, &head), lines));
                    }
                    tracing::warn!(%message, "a response of the client is dropped");
                }
                Ok(None) => return None,
                // A read error means that the client has disconnected, as the end of the input
                // does.
                Err(error) => {
                    tracing::warn!(%error, "reading from the client failed; treated as the end of the input");
                    return None;
                }
            }
        }
    })
}

/// Returns what to pass on for a complete line: nothing if it is blank, otherwise the line or the
/// request that replaces it.
fn accept(line: String) -> Option<IncomingLine> {
    if line.trim().is_empty() {
        return None;
    }
    let line = match agent::without_halves(&line) {
        Cow::Owned(replaced) => replaced,
        Cow::Borrowed(_) => line,
    };
    let head = MessageHead::of(&line);
    if head.depth > JSON_DEPTH {
        let message = format!("the message nests {} levels deep; {JSON_DEPTH} are allowed", head.depth);
        return Some(rejected_line(-32600, &message, &head));
    }
    if let Err(error) = serde_json::from_str::<IgnoredAny>(&line) {
        // In a line that is not JSON, nothing can be trusted to be the id.
        return Some(rejected_line(
            -32700,
            &format!("the line is not JSON: {error}"),
            &MessageHead::default(),
        ));
    }
    if head.unusual
        && let Err(error) = serde_json::from_str::<Value>(&line)
    {
        return Some(rejected_line(-32700, &format!("the line cannot be parsed: {error}"), &head));
    }
    let text = if head.is_response() && head.members.result && head.members.error {
        without_result(line)
    } else {
        line
    };
    Some(IncomingLine { text, head: Some(head) })
}

fn rejected_line(code: i32, message: &str, head: &MessageHead) -> IncomingLine {
    IncomingLine { text: bad_line(code, message, head), head: None }
}

/// Returns what makes a request or a notification invalid; `None` for an array or a bare value,
/// which the SDK rejects as a whole.
fn defect(head: &MessageHead) -> Option<(i32, &'static str)> {
    if !head.is_object || head.is_response() {
        return None;
    }
    if head.members.version.as_deref() != Some("\"2.0\"") {
        return Some((-32600, "the member jsonrpc must be \"2.0\""));
    }
    match head.members.method {
        None => return Some((-32600, "JSON-RPC request is missing method")),
        Some(b'"') => {}
        Some(_) => return Some((-32600, "the member method must be a string")),
    }
    if head.members.result || head.members.error {
        return Some((-32600, "a message with a method has neither a result nor an error"));
    }
    if head.id_kind() == Some(IdKind::Wrong) || head.id.is_none() && head.has_id {
        return Some((-32600, "the member id must be a string or an integer"));
    }
    if !matches!(head.members.params, None | Some(b'{' | b'[' | b'n')) {
        return Some((-32602, "Params must be an object"));
    }
    None
}

/// Removes the result from a response that has both a result and an error, so that it counts as an
/// error. The SDK would drop such a response, and the request would never complete.
fn without_result(line: String) -> String {
    match serde_json::from_str::<Value>(&line) {
        Ok(Value::Object(mut object)) if !object.contains_key("method") => {
            object.remove("result");
            Value::Object(object).to_string()
        }
        _ => line,
    }
}

fn bad_line(code: i32, message: &str, head: &MessageHead) -> String {
    let params = json!({ "code": code, "message": message });
    let id = ids::of(head);
    json!({ "jsonrpc": "2.0", "id": id, "method": *BAD_LINE, "params": params }).to_string()
}

enum Line {
    Whole(String),
    /// Longer than the limit, and discarded; its length in bytes, and its head.
    TooLong(usize, MessageHead),
}

struct LineReader<R> {
    reader: BufReader<R>,
    buffer: Vec<u8>,
    cap: usize,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    /// Reads the next line, without its line ending and a byte-order mark, with invalid UTF-8
    /// replaced; `None` at the end of the input.
    async fn next(&mut self) -> io::Result<Option<Line>> {
        self.buffer.clear();
        self.buffer.shrink_to(KEPT_LINE_BYTES);
        let mut size = 0;
        let mut too_long: Option<Box<Scanner>> = None;
        loop {
            let bytes = self.reader.fill_buf().await?;
            if bytes.is_empty() {
                return Ok(if size == 0 { None } else { Some(self.take(size, too_long)) });
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let piece = &bytes[..end.unwrap_or(bytes.len())];
            size += piece.len();
            if size <= self.cap {
                self.buffer.extend_from_slice(piece);
            } else {
                // From here on the line is scanned but not kept.
                let scanner = too_long.get_or_insert_with(|| {
                    let mut scanner = Box::new(Scanner::default());
                    scanner.push(&std::mem::take(&mut self.buffer));
                    scanner
                });
                scanner.push(piece);
            }
            let used = piece.len() + usize::from(end.is_some());
            self.reader.consume(used);
            if end.is_some() {
                return Ok(Some(self.take(size, too_long)));
            }
        }
    }

    fn take(&mut self, size: usize, too_long: Option<Box<Scanner>>) -> Line {
        if let Some(scanner) = too_long {
            return Line::TooLong(size, scanner.finish());
        }
        let text = String::from_utf8_lossy(&self.buffer);
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        Line::Whole(text.strip_suffix('\r').unwrap_or(text).to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::StreamExt;
    use tokio::io::AsyncWriteExt;

    async fn check(input: &[u8], cap: usize) -> Vec<String> {
        incoming(io::Cursor::new(input.to_vec()), cap).map(IncomingLine::message).collect().await
    }

    fn error_of(line: &str) -> (i64, String) {
        let value: Value = serde_json::from_str(line).unwrap();
        assert!(is_bad_line(value["method"].as_str().unwrap()));
        assert_eq!(value["id"], Value::Null);
        (value["params"]["code"].as_i64().unwrap(), value["params"]["message"].as_str().unwrap().to_owned())
    }

    #[tokio::test]
    async fn skips_blank_lines_marks_and_carriage_returns() {
        let lines = check(b"\xef\xbb\xbf[1]\r\n\n  \r\n[2]\n\xef\xbb\xbf\n[3]", 100).await;
        assert_eq!(lines, ["[1]", "[2]", "[3]"]);
    }

    #[tokio::test]
    async fn replaces_invalid_utf8_and_continues() {
        let lines = check(b"[\"\xff\"]\n\xff\xfe\n[2]\n", 100).await;
        assert_eq!(lines[0], "[\"\u{fffd}\"]");
        assert_eq!(error_of(&lines[1]).0, -32700);
        assert_eq!(lines[2], "[2]");
    }

    #[tokio::test]
    async fn discards_a_line_beyond_the_limit_and_continues() {
        let mut input = vec![b'x'; 300_000];
        input.extend_from_slice(b"\n[2]\n");
        let lines = check(&input, 1000).await;
        let (code, message) = error_of(&lines[0]);
        assert_eq!(code, -32600);
        assert!(message.contains("1000 bytes (300000 bytes)"), "{message}");
        assert_eq!(lines[1], "[2]");
    }

    #[tokio::test]
    async fn accepts_a_line_of_exactly_the_limit() {
        assert_eq!(check(b"[1,2,3]\n", 7).await, ["[1,2,3]"]);
        assert_eq!(error_of(&check(b"[1,2,3]\n", 6).await[0]).0, -32600);
    }

    #[tokio::test]
    async fn refuses_deep_nesting_and_bad_json_without_echo() {
        let deep = format!("{}\n[2]\n", "[".repeat(100_000));
        let lines = check(deep.as_bytes(), 1_000_000).await;
        assert_eq!(error_of(&lines[0]).0, -32600);
        assert!(lines[0].len() < 300);
        assert_eq!(lines[1], "[2]");
        assert_eq!(error_of(&check(b"{\"a\":", 100).await[0]).0, -32700);
    }

    /// Every line that this reader accepts must be valid for the SDK too: the SDK would echo an
    /// invalid line, including the user's text.
    #[tokio::test]
    async fn errors_do_not_echo_the_line() {
        for line in [
            r#"{"secret":"\ud83d","n":1e999}"#,
            r#"{"secret":-1e999}"#,
            r#"{"secret":"\uzzzz"}"#,
            r#"{"secret":"\ud8"}"#,
            r#"{"secret":01}"#,
            "{\"secret\":\"tab\there\"}",
            r#"{"secret"}"#,
            r#"{secret:1}"#,
        ] {
            let lines = check(format!("{line}\n").as_bytes(), 1000).await;
            assert_eq!(error_of(&lines[0]).0, -32700, "{line}");
            assert!(!lines[0].contains("secret"), "{}", lines[0]);
        }
    }

    #[tokio::test]
    async fn a_lone_surrogate_is_replaced_by_one_character() {
        let lines = check(br#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"x\ud83d","\uDE00":"\ud83d\ude00 \\ud83d"}}"#, 1000).await;
        let value: Value = serde_json::from_str(&lines[0]).unwrap();
        assert_eq!(value["params"], json!({"a": "x\u{fffd}", "\u{fffd}": "😀 \\ud83d"}));
    }

    proptest::proptest! {
        /// For any input, the text passed on is JSON.
        #[test]
        fn only_valid_json_is_passed_on(line in "[{}\\[\\]\":,\\\\ude08D9a.+-]{0,40}") {
            if let Some(read) = accept(line) {
                proptest::prop_assert!(serde_json::from_str::<Value>(&read.text).is_ok(), "{}", read.text);
            }
        }
    }

    #[tokio::test]
    async fn a_response_with_both_members_is_an_error() {
        let lines =
            check(br#"{"jsonrpc":"2.0","id":"x","result":{},"error":{"code":1,"message":"m"}}"#, 100).await;
        let value: Value = serde_json::from_str(&lines[0]).unwrap();
        assert!(value.get("result").is_none() && value.get("error").is_some());
    }

    #[tokio::test]
    async fn reassembles_characters_split_over_reads() {
        let (mut writer, reader) = tokio::io::duplex(1);
        let lines = tokio::spawn(incoming(reader, 100).map(IncomingLine::message).collect::<Vec<_>>());
        writer.write_all("[\"ü→🦀\"]\n".as_bytes()).await.unwrap();
        drop(writer);
        assert_eq!(lines.await.unwrap(), ["[\"ü→🦀\"]"]);
    }
}
