//! A model server on loopback that speaks the chat-completions wire format and reports when each
//! request arrived and was answered.

use super::script::{Answers, Script};
use crate::peers::http::{Request, read_request, write_chunk, write_event_stream_head, write_json};
use anyhow::{Context, Result};
use serde_json::Value;
use std::io::{BufReader, BufWriter, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// What the server did.
#[derive(Debug)]
pub(super) enum Event {
    /// A request was received and its first chunk sent; the script hangs now.
    Hanging,
    /// A response was sent completely.
    Answered {
        /// The arrival of the request's last byte.
        received: Instant,
        /// When each event was written to the socket; in a burst only the first is flushed
        /// separately.
        sent: Vec<Instant>,
        /// When the response's last byte was written to the socket.
        done: Instant,
    },
}

/// A running server. Its threads end with the process.
pub(super) struct ModelServer {
    address: SocketAddr,
    events: Receiver<Event>,
}

impl ModelServer {
    /// Listens on a free port of the loopback interface.
    pub(super) fn start() -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).context("no port for the model server")?;
        let address = listener.local_addr()?;
        let (sender, events) = channel();
        let answers = Arc::new(Answers::prepare());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (sender, answers) = (sender.clone(), Arc::clone(&answers));
                std::thread::spawn(move || {
                    if let Err(error) = serve(&stream, &answers, &sender) {
                        eprintln!("bench: model server: {error:#}");
                    }
                });
            }
        });
        Ok(Self { address, events })
    }

    /// Returns the base URL for clients.
    pub(super) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Returns the next event, or an error after `patience`.
    pub(super) fn next(&self, patience: Duration) -> Result<Event> {
        self.events.recv_timeout(patience).context("the model server was not asked")
    }

    /// Returns all events that have not been fetched yet.
    pub(super) fn drain(&self) -> Vec<Event> {
        self.events.try_iter().collect()
    }
}

fn serve(stream: &TcpStream, answers: &Answers, events: &Sender<Event>) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut from = BufReader::new(stream);
    while let Some(request) = read_request(&mut from)? {
        let received = Instant::now();
        let Some((script, results)) = asked_for(&request) else {
            write_json(
                &mut &*stream,
                "404 Not Found",
                r#"{"error":{"message":"the bench has no answer to this"}}"#,
            )?;
            continue;
        };
        if script == Script::Hang {
            hang(stream, answers, events)?;
            break;
        }
        if script == Script::Flood {
            flood(stream, answers)?;
            break;
        }
        let answered = answer(stream, answers.events(script, results), script.pause(), received)?;
        if events.send(answered).is_err() {
            break;
        }
    }
    Ok(())
}

fn asked_for(request: &Request) -> Option<(Script, usize)> {
    let body: Value = serde_json::from_slice(&request.body).ok()?;
    Script::asked_for(&body).filter(|_| request.line == "POST /v1/chat/completions")
}

fn answer(stream: &TcpStream, data: &[String], pause: Duration, received: Instant) -> Result<Event> {
    let mut to = BufWriter::with_capacity(16 << 10, stream);
    let mut sent = Vec::with_capacity(data.len());
    write_event_stream_head(&mut to)?;
    for (index, data) in data.iter().enumerate() {
        if index > 0 && !pause.is_zero() {
            std::thread::sleep(pause);
        }
        sent.push(Instant::now());
        write_chunk(&mut to, &format!("data: {data}\n\n"))?;
        if index == 0 || !pause.is_zero() {
            to.flush()?;
        }
    }
    write_chunk(&mut to, "")?;
    to.flush()?;
    Ok(Event::Answered { received, sent, done: Instant::now() })
}

/// Sends the first chunk and waits until the client disconnects.
fn hang(mut stream: &TcpStream, answers: &Answers, events: &Sender<Event>) -> Result<()> {
    write_event_stream_head(&mut stream)?;
    let data = answers.events(Script::Hang, 0);
    write_chunk(&mut stream, &format!("data: {}\n\n", data[0]))?;
    // If the receiver is gone the bench is over, and there is no need to wait.
    if events.send(Event::Hanging).is_ok() {
        let mut rest = [0; 64];
        while matches!(stream.read(&mut rest), Ok(count) if count > 0) {}
    }
    Ok(())
}

/// Sends chunks until the client disconnects.
fn flood(stream: &TcpStream, answers: &Answers) -> Result<()> {
    let mut to = BufWriter::with_capacity(16 << 10, stream);
    write_event_stream_head(&mut to)?;
    for data in answers.events(Script::Flood, 0).iter().cycle() {
        if write_chunk(&mut to, &format!("data: {data}\n\n")).is_err() {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::io::BufRead;

    const PATIENCE: Duration = Duration::from_secs(10);

    fn ask(server: &ModelServer, path: &str, word: &str) -> BufReader<TcpStream> {
        let body = json!({ "messages": [{ "role": "user", "content": word }] }).to_string();
        let mut stream = TcpStream::connect(server.address).unwrap();
        write!(stream, "POST {path} HTTP/1.1\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
        BufReader::new(stream)
    }

    fn read_until(from: &mut impl BufRead, end: &str) -> String {
        let mut text = String::new();
        while !text.ends_with(end) {
            assert!(from.read_line(&mut text).unwrap() > 0, "closed before {end:?}: {text}");
        }
        text
    }

    #[test]
    fn an_answer_is_streamed_and_timed() {
        let server = ModelServer::start().unwrap();
        let text = read_until(&mut ask(&server, "/v1/chat/completions", Script::One.word()), "0\r\n\r\n");
        assert!(text.starts_with("HTTP/1.1 200 OK"), "{text}");
        assert!(text.contains("\"content\":\"done\"") && text.contains("data: [DONE]"), "{text}");
        let Event::Answered { received, sent, done } = server.next(PATIENCE).unwrap() else {
            panic!("hanging")
        };
        assert!(sent.len() == 4 && received <= sent[0] && sent[3] <= done);
    }

    #[test]
    fn a_hanging_answer_ends_with_the_client() {
        let server = ModelServer::start().unwrap();
        let mut from = ask(&server, "/v1/chat/completions", Script::Hang.word());
        assert!(read_until(&mut from, "\n\n\r\n").contains("hanging"));
        assert!(matches!(server.next(PATIENCE).unwrap(), Event::Hanging));
        assert!(server.drain().is_empty());
    }

    #[test]
    fn other_paths_are_not_found() {
        let server = ModelServer::start().unwrap();
        assert!(
            read_until(&mut ask(&server, "/v1/models", Script::One.word()), "\r\n")
                .starts_with("HTTP/1.1 404")
        );
    }
}
