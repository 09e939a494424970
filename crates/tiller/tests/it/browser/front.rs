//! A listener under whose address an attacker's page is loaded first and the server is reached
//! afterwards, as after the name of the page was rebound to the server's address.

use std::{
    io::{Read as _, Write as _},
    net::{Shutdown, TcpListener, TcpStream},
    thread,
};

/// The listener.
pub(super) struct Front(TcpListener);

impl Front {
    pub(super) fn bind() -> Self {
        Self(TcpListener::bind("127.0.0.1:0").unwrap())
    }

    pub(super) fn port(&self) -> u16 {
        self.0.local_addr().unwrap().port()
    }

    /// Answers requests of `/page` with the page, and passes every other connection on to the
    /// server as it is.
    pub(super) fn serve(&self, page: String, place: &str) {
        let (listener, server) = (self.0.try_clone().unwrap(), address(place).to_owned());
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (page, server) = (page.clone(), server.clone());
                thread::spawn(move || answer(stream, &page, &server));
            }
        });
    }
}

/// Sends a request without a body to the server; returns the body of the answer.
pub(super) fn post(place: &str, host: &str, path: &str, headers: &[(&str, String)]) -> String {
    let mut stream = TcpStream::connect(address(place)).unwrap();
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let length = "content-length: 0\r\nconnection: close\r\n";
    write!(stream, "POST {path} HTTP/1.1\r\nhost: {host}\r\n{length}{headers}\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split_once("\r\n\r\n").unwrap().1.to_owned()
}

fn address(place: &str) -> &str {
    place.strip_prefix("tcp:").unwrap()
}

fn answer(mut stream: TcpStream, page: &str, server: &str) {
    let mut first = [0; 9];
    if stream.peek(&mut first).unwrap_or(0) == first.len() && &first == b"GET /page" {
        // The request is read, so that closing the connection does not reset it.
        let _ = stream.read(&mut [0; 16 * 1024]);
        let head = "content-type: text/html; charset=utf-8\r\nconnection: close\r\n";
        let length = page.len();
        let _ = write!(stream, "HTTP/1.1 200 OK\r\n{head}content-length: {length}\r\n\r\n{page}");
        return;
    }
    let Ok(to) = TcpStream::connect(server) else { return };
    let (mut from, mut back) = (stream.try_clone().unwrap(), to.try_clone().unwrap());
    thread::spawn(move || {
        let _ = std::io::copy(&mut back, &mut stream);
        let _ = stream.shutdown(Shutdown::Both);
    });
    let mut to = to;
    let _ = std::io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
}
