//! A model server that answers by path, like Ollama, llama.cpp, LM Studio, vLLM and gateways.

use serde_json::Value;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// The server. It answers unknown paths with 404.
pub(crate) struct Lister {
    pub(crate) url: String,
    /// The answers by method and path, such as `GET /v1/models`; those to `POST /api/show` include
    /// the requested model, as `POST /api/show NAME`.
    answers: Arc<Mutex<BTreeMap<String, String>>>,
    seen: Arc<Mutex<Vec<String>>>,
    accepting: JoinHandle<()>,
}

impl Lister {
    #[expect(clippy::disallowed_methods, reason = "the test's own server")]
    pub(crate) async fn start(answers: &[(&str, Value)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let answers: BTreeMap<_, _> =
            answers.iter().map(|(path, body)| ((*path).to_owned(), body.to_string())).collect();
        let answers = Arc::new(Mutex::new(answers));
        let (log, known) = (seen.clone(), answers.clone());
        let accepting = tokio::spawn(async move {
            loop {
                let (socket, _) = listener.accept().await.unwrap();
                tokio::spawn(serve(socket, log.clone(), known.clone()));
            }
        });
        Self { url, answers, seen, accepting }
    }

    /// Starts a server that accepts connections but never responds; it runs as long as the value
    /// lives.
    #[expect(clippy::disallowed_methods, reason = "the test's own server")]
    pub(crate) async fn silent() -> (TcpListener, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        (listener, url)
    }

    /// Changes an answer.
    pub(crate) fn answer(&self, path: &str, body: &Value) {
        self.answers.lock().unwrap().insert(path.to_owned(), body.to_string());
    }

    /// Returns the requests so far: method, path, and authorization if there was any.
    pub(crate) fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

impl Drop for Lister {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn serve(
    socket: TcpStream,
    seen: Arc<Mutex<Vec<String>>>,
    answers: Arc<Mutex<BTreeMap<String, String>>>,
) -> Option<()> {
    let mut socket = BufReader::new(socket);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if socket.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        match line.trim() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let header = |name: &str| {
        let line = lines.iter().find(|line| line.to_lowercase().starts_with(&format!("{name}: ")))?;
        Some(line[name.len() + 2..].to_owned())
    };
    let mut asked = lines.first()?.rsplit_once(' ')?.0.to_owned();
    let mut body = vec![0; header("content-length").map_or(0, |length| length.parse().unwrap())];
    socket.read_exact(&mut body).await.ok()?;
    if let Ok(body) = serde_json::from_slice::<Value>(&body) {
        asked = format!("{asked} {}", body["model"].as_str().unwrap_or_default());
    }
    let key = ["authorization", "x-api-key", "x-goog-api-key"]
        .into_iter()
        .find_map(header)
        .map(|key| format!(" {key}"));
    seen.lock().unwrap().push(asked.clone() + key.as_deref().unwrap_or_default());
    let answer = answers.lock().unwrap().get(&asked).cloned();
    let (status, body) = answer.map_or(("404 Not Found", String::new()), |body| ("200 OK", body));
    let length = body.len();
    let answer = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
    socket.get_mut().write_all(answer.as_bytes()).await.ok()
}
