//! A proxy between agent and model server. It gives all agents the same sampling parameters and
//! records the traffic.

use crate::peers::http::{Request, read_request, write_json};
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::io::{BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

/// Headers of one connection, which are not forwarded. Accept-Encoding is among them because
/// recorded responses must be uncompressed.
const OWN_HEADERS: [&str; 6] =
    ["host", "connection", "content-length", "transfer-encoding", "accept-encoding", "expect"];
/// Parameters by which a request could override the run's sampling.
const SAMPLING: [&str; 8] = [
    "temperature",
    "seed",
    "top_p",
    "top_k",
    "min_p",
    "presence_penalty",
    "frequency_penalty",
    "repeat_penalty",
];

/// The sampling parameters of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sampling {
    pub(super) temperature: f64,
    pub(super) seed: u64,
}

/// A request to the model and its response.
#[derive(Debug)]
pub(super) struct Exchange {
    /// The arrival of the request.
    pub(super) started: Instant,
    /// The path, such as `/v1/chat/completions`.
    pub(super) path: String,
    pub(super) request: Value,
    /// The raw response, head and body, as far as it was received.
    pub(super) answer: Vec<u8>,
}

/// A model server's base URL, such as `http://127.0.0.1:8080/v1`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Upstream {
    /// Host and port.
    host: String,
    /// The path before `/chat/completions`.
    prefix: String,
}

/// The proxy. Its threads end with the process.
pub(super) struct Proxy {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

struct State {
    upstream: Upstream,
    sampling: Sampling,
    /// The number of the run, so that late responses are not recorded in the next run.
    run: usize,
    exchanges: Vec<Exchange>,
    /// Open connections to the server.
    open: Vec<TcpStream>,
}

impl Proxy {
    /// Listens on loopback for requests to a model server.
    ///
    /// # Errors
    ///
    /// Fails if the URL is not plain HTTP.
    pub(super) fn start(upstream: &str) -> Result<Self> {
        let upstream = parse(upstream)?;
        let listener = TcpListener::bind(("127.0.0.1", 0)).context("no port for the proxy")?;
        let address = listener.local_addr()?;
        let sampling = Sampling { temperature: 0.0, seed: 0 };
        let state = State { upstream, sampling, run: 0, exchanges: Vec::new(), open: Vec::new() };
        let state = Arc::new(Mutex::new(state));
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                // If either side disconnects, the recorded response is truncated too.
                std::thread::spawn(move || converse(&stream, &state).ok());
            }
        });
        Ok(Self { address, state })
    }

    /// Checks that the server accepts connections.
    ///
    /// # Errors
    ///
    /// Fails if it does not; the error names its address.
    pub(super) fn check_upstream(&self) -> Result<()> {
        let host = lock(&self.state).upstream.host.clone();
        let reached = TcpStream::connect(&host).map(|_| ());
        reached.with_context(|| format!("no model server at {host}; start it, or name another with --server"))
    }

    /// Returns the URL that agents use in place of the server's, without a path.
    pub(super) fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Begins a run.
    pub(super) fn begin(&self, sampling: Sampling) {
        let mut state = lock(&self.state);
        state.sampling = sampling;
        state.run += 1;
        state.exchanges.clear();
    }

    /// Ends the run; pending requests to the server are aborted.
    pub(super) fn end(&self) -> Vec<Exchange> {
        let mut state = lock(&self.state);
        state.run += 1;
        for stream in state.open.drain(..) {
            stream.shutdown(Shutdown::Both).ok();
        }
        std::mem::take(&mut state.exchanges)
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().expect("no thread panics with the lock held")
}

fn parse(url: &str) -> Result<Upstream> {
    let Some(rest) = url.strip_prefix("http://") else {
        bail!("{url}: the model server must be reached by http://, such as http://127.0.0.1:8080/v1");
    };
    let (host, prefix) = rest.split_once('/').unwrap_or((rest, "v1"));
    let host = if host.contains(':') { host.to_owned() } else { format!("{host}:80") };
    Ok(Upstream { host, prefix: format!("/{}", prefix.trim_matches('/')) })
}

/// Maps a request's path to the server's: the part after `/v1` is appended to the server's own
/// prefix.
fn path_for(prefix: &str, path: &str) -> String {
    match path.strip_prefix("/v1") {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            format!("{}{rest}", prefix.trim_end_matches('/'))
        }
        _ => path.to_owned(),
    }
}

/// Forwards one request and its response. Each connection serves one request.
fn converse(agent: &TcpStream, state: &Mutex<State>) -> Result<()> {
    agent.set_nodelay(true)?;
    let Some(mut request) = read_request(&mut BufReader::new(agent))? else { return Ok(()) };
    let started = Instant::now();
    let (upstream, sampling, run) = {
        let state = lock(state);
        (state.upstream.clone(), state.sampling, state.run)
    };
    let path = request.line.split(' ').nth(1).unwrap_or("/").to_owned();
    let body =
        serde_json::from_slice(&request.body).ok().filter(asks_a_model).map(|body| sampled(body, sampling));
    if let Some(body) = &body {
        request.body = serde_json::to_vec(body)?;
    }
    let server = match TcpStream::connect(&upstream.host) {
        Ok(server) => server,
        Err(error) => {
            let text = format!("the model server at {} cannot be reached: {error}", upstream.host);
            return Ok(write_json(
                &mut &*agent,
                "502 Bad Gateway",
                &json!({ "error": { "message": text } }).to_string(),
            )?);
        }
    };
    let place = {
        let mut state = lock(state);
        if state.run != run {
            return Ok(());
        }
        state.open.push(server.try_clone()?);
        body.map(|request| {
            state.exchanges.push(Exchange { started, path: path.clone(), request, answer: Vec::new() });
            state.exchanges.len() - 1
        })
    };
    let keep = |part: &[u8]| {
        let mut state = lock(state);
        if let (Some(place), true) = (place, state.run == run) {
            state.exchanges[place].answer.extend_from_slice(part);
        }
    };
    let passed = pass(&request, &path, &upstream, &server, agent, keep);
    server.shutdown(Shutdown::Both).ok();
    agent.shutdown(Shutdown::Both).ok();
    passed
}

fn asks_a_model(body: &Value) -> bool {
    body["messages"].is_array() || body["input"].is_array() || body["input"].is_string()
}

/// Replaces the sampling parameters of a request.
fn sampled(mut body: Value, sampling: Sampling) -> Value {
    if let Some(fields) = body.as_object_mut() {
        fields.retain(|name, _| !SAMPLING.contains(&name.as_str()));
        fields.insert("temperature".to_owned(), json!(sampling.temperature));
        fields.insert("seed".to_owned(), json!(sampling.seed));
    }
    body
}

fn pass(
    request: &Request,
    path: &str,
    upstream: &Upstream,
    mut server: &TcpStream,
    mut agent: &TcpStream,
    keep: impl Fn(&[u8]),
) -> Result<()> {
    let method = request.line.split(' ').next().unwrap_or("GET");
    let path = path_for(&upstream.prefix, path);
    let mut head = format!("{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n", upstream.host);
    for (name, value) in &request.headers {
        if !OWN_HEADERS.contains(&name.to_ascii_lowercase().as_str()) {
            head += &format!("{name}: {value}\r\n");
        }
    }
    head += &format!("content-length: {}\r\n\r\n", request.body.len());
    server.write_all(head.as_bytes())?;
    server.write_all(&request.body)?;
    let mut part = [0; 16 << 10];
    while let count @ 1.. = server.read(&mut part)? {
        keep(&part[..count]);
        agent.write_all(&part[..count])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::exchange::Answer;
    use crate::peers::{model, wire};

    fn ask(origin: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(origin.trim_start_matches("http://")).unwrap();
        let length = body.len();
        write!(
            stream,
            "POST /v1/chat/completions HTTP/1.1\r\nx-key: k\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn a_request_is_forwarded_with_the_runs_sampling_and_recorded() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let keep = Arc::clone(&seen);
        let server = model::serve(move |request| {
            keep.lock().unwrap().push((request.line.clone(), request.headers.clone(), request.body.clone()));
            Some(vec![wire::text("seven"), wire::end("stop"), wire::usage(), wire::DONE.to_owned()])
        })
        .unwrap();
        let proxy = Proxy::start(&format!("http://{server}/api")).unwrap();
        proxy.begin(Sampling { temperature: 0.5, seed: 3 });
        let body = r#"{"model":"m","temperature":1,"top_p":0.1,"messages":[],"stream":true}"#;
        let passed = ask(&proxy.origin(), body);
        assert!(passed.contains("seven"), "{passed}");
        let (line, headers, body) = seen.lock().unwrap().remove(0);
        assert_eq!(line, "POST /api/chat/completions");
        assert!(headers.contains(&("x-key".to_owned(), "k".to_owned())));
        let sent: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(
            sent,
            json!({ "model": "m", "messages": [], "stream": true, "temperature": 0.5, "seed": 3 })
        );
        let kept = proxy.end();
        assert_eq!(kept.len(), 1);
        let answer = Answer::read(&kept[0]);
        assert_eq!((answer.text.as_str(), answer.prompt_tokens, answer.finished), ("seven", Some(10), true));
        assert!(proxy.end().is_empty());
    }

    #[test]
    fn an_unanswered_request_is_recorded_as_such() {
        let server = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let proxy = Proxy::start(&format!("http://{}", server.local_addr().unwrap())).unwrap();
        proxy.begin(Sampling { temperature: 0.0, seed: 1 });
        let origin = proxy.origin();
        let asking = std::thread::spawn(move || ask(&origin, r#"{"messages":[]}"#));
        let (stream, _) = server.accept().unwrap();
        assert!(read_request(&mut BufReader::new(&stream)).unwrap().is_some());
        let kept = proxy.end();
        assert_eq!((kept.len(), Answer::read(&kept[0]).finished), (1, false));
        assert_eq!(asking.join().unwrap(), "", "the agent is not left waiting");
    }

    #[test]
    fn an_unreachable_server_is_reported() {
        let free = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap();
        let proxy = Proxy::start(&format!("http://{free}/v1")).unwrap();
        assert!(format!("{:#}", proxy.check_upstream().unwrap_err()).contains("--server"));
        let passed = ask(&proxy.origin(), r#"{"messages":[]}"#);
        assert!(passed.starts_with("HTTP/1.1 502") && passed.contains("cannot be reached"), "{passed}");
    }

    #[test]
    fn addresses_are_parsed() {
        let upstream = parse("http://127.0.0.1:8080").unwrap();
        assert_eq!((upstream.host.as_str(), upstream.prefix.as_str()), ("127.0.0.1:8080", "/v1"));
        assert!(parse("https://example.org/v1").is_err());
        assert_eq!(path_for("/v1", "/v1/models"), "/v1/models");
        assert_eq!(path_for("/", "/v1/models"), "/models");
        assert_eq!(path_for("/v1", "/props"), "/props");
    }
}
