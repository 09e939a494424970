//! A model server on loopback that streams prepared answers, one per request.

use crate::refusals::{Rule, refuse};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::mpsc::{Receiver, channel},
};

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

/// The server's URL, and its requests: path and body.
pub(crate) struct ModelServer {
    pub(crate) url: String,
    pub(crate) requests: Receiver<(String, String)>,
}

impl ModelServer {
    /// Serves the answers in order, each as server-sent events.
    pub(crate) fn start(answers: Vec<String>) -> Self {
        Self::strict(Vec::new(), answers)
    }

    /// Like [`Self::start`], and answers `/v1/models` with this JSON.
    pub(crate) fn listing(list: String, answers: Vec<String>) -> Self {
        Self::serve(Some(list), Vec::new(), answers)
    }

    /// Like [`Self::start`], and refuses requests that break one of these rules, with the vendor's
    /// message.
    pub(crate) fn strict(rules: Vec<Rule>, answers: Vec<String>) -> Self {
        Self::serve(None, rules, answers)
    }

    fn serve(list: Option<String>, rules: Vec<Rule>, answers: Vec<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (sender, requests) = channel();
        std::thread::spawn(move || {
            let mut answers = answers.into_iter().peekable();
            while answers.peek().is_some() {
                let (mut stream, _) = listener.accept().unwrap();
                let (first, body) = read_request(&stream).unwrap();
                if first.starts_with("GET ") {
                    let list = list.as_ref().filter(|_| first.starts_with("GET /v1/models "));
                    let status = if list.is_some() { "200 OK" } else { "404 Not Found" };
                    let body = list.map_or("", String::as_str);
                    let head = format!("content-length: {}\r\nconnection: close\r\n\r\n", body.len());
                    let _ = stream.write_all(format!("HTTP/1.1 {status}\r\n{head}{body}").as_bytes());
                    continue;
                }
                let path = first.split(' ').nth(1).unwrap().to_owned();
                let request = serde_json::from_slice(&body).unwrap_or_default();
                let response = match rules.iter().find_map(|rule| refuse(*rule, &path, &request)) {
                    Some((status, printed)) => {
                        format!(
                            "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n{printed}"
                        )
                    }
                    None => format!("{HEAD}{}", answers.next().unwrap()),
                };
                // The receiver is gone if the test has failed by now.
                let _ = sender.send((path, String::from_utf8(body).unwrap()));
                let _ = stream.write_all(response.as_bytes());
            }
        });
        Self { url, requests }
    }
}

/// Reads a request: its first line and its body.
pub(crate) fn read_request(stream: &TcpStream) -> std::io::Result<(String, Vec<u8>)> {
    let mut reader = BufReader::new(stream);
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first)?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().map_err(std::io::Error::other)?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok((first, body))
}
