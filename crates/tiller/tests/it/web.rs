//! A web server on loopback with answers from a callback.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
};

/// A request as received.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// The path with its query.
    pub(crate) path: String,
    headers: Vec<(String, String)>,
    pub(crate) body: String,
}

/// An answer: the status, further headers, and the body.
pub(crate) type Response = (u16, Vec<(&'static str, String)>, String);

/// The server. It runs until the test process ends.
pub(crate) struct Web {
    pub(crate) address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Request {
    /// Returns a header by its lowercase name.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

impl Web {
    /// Starts the server. The callback gets each request and the server's own URL.
    pub(crate) fn start(answer: impl Fn(&Request, &str) -> Response + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (seen, answer) = (Arc::clone(&requests), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (seen, answer) = (Arc::clone(&seen), Arc::clone(&answer));
                std::thread::spawn(move || serve(&stream, &seen, address, answer.as_ref()));
            }
        });
        Self { address, requests }
    }

    /// The URL of a path.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Returns every request so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

/// Requests a loopback URL, as a browser would; returns the status line and the rest.
pub(crate) fn get(url: &str) -> (String, String) {
    let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n").unwrap();
    let mut printed = String::new();
    stream.read_to_string(&mut printed).unwrap();
    let (status, rest) = printed.split_once("\r\n").unwrap();
    (status.to_owned(), rest.to_owned())
}

/// Serves one request per connection. The client may have disconnected before the answer.
fn serve(
    stream: &TcpStream,
    seen: &Mutex<Vec<Request>>,
    address: SocketAddr,
    answer: &(dyn Fn(&Request, &str) -> Response + Send + Sync),
) {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    if reader.read_line(&mut first).unwrap_or(0) == 0 {
        return;
    }
    let mut words = first.split_whitespace().map(str::to_owned);
    let (Some(method), Some(path)) = (words.next(), words.next()) else { return };
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 || line.trim().is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').unwrap();
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut request = Request { method, path, headers, body: String::new() };
    let length = request.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    if reader.read_exact(&mut body).is_err() {
        return;
    }
    request.body = String::from_utf8_lossy(&body).into_owned();
    seen.lock().unwrap().push(request.clone());
    let (status, headers, body) = answer(&request, &format!("http://{address}"));
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let head = format!(
        "HTTP/1.1 {status} -\r\ncontent-length: {}\r\nconnection: close\r\n{headers}\r\n",
        body.len()
    );
    let _ = (&*stream).write_all(format!("{head}{body}").as_bytes());
}
