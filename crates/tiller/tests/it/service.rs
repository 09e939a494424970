//! An HTTP service on loopback with answers from a callback.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

/// A request to the service.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asked {
    pub(crate) method: String,
    /// The path with its query.
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map_or("", |(_, value)| value)
    }
}

/// The service's URL and its requests.
pub(crate) struct Service {
    pub(crate) url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Service {
    /// Starts the service. The callback gets the number of earlier requests, and returns the
    /// status,
    /// further headers and the body.
    pub(crate) fn start(
        answer: impl Fn(usize, &Asked) -> (u16, String, String) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::<Mutex<Vec<Asked>>>::default();
        let (seen, count) = (asked.clone(), AtomicUsize::new(0));
        std::thread::spawn(move || {
            while let Ok((mut stream, _)) = listener.accept() {
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let mut first = String::new();
                if reader.read_line(&mut first).unwrap_or(0) == 0 {
                    continue;
                }
                let mut words = first.split(' ').map(str::to_owned);
                let mut request =
                    Asked { method: words.next().unwrap(), path: words.next().unwrap(), ..Asked::default() };
                loop {
                    let mut line = String::new();
                    reader.read_line(&mut line).unwrap();
                    let Some((name, value)) = line.trim().split_once(':') else { break };
                    request.headers.push((name.to_owned(), value.trim().to_owned()));
                }
                let mut body = vec![0; request.header("content-length").parse().unwrap_or(0)];
                reader.read_exact(&mut body).unwrap();
                request.body = String::from_utf8(body).unwrap();
                let (status, headers, body) = answer(count.fetch_add(1, Ordering::Relaxed), &request);
                seen.lock().unwrap().push(request);
                let length = body.len();
                let head = format!(
                    "HTTP/1.1 {status} X\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n"
                );
                // The client may have disconnected.
                let _ = stream.write_all(format!("{head}{body}").as_bytes());
            }
        });
        Self { url, asked }
    }

    /// Returns the requests since the last call.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }

    /// Returns the method and path of each of these requests.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.asked().iter().map(|asked| format!("{} {}", asked.method, asked.path)).collect()
    }
}
