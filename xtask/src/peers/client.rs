//! A scripted ACP client: newline-delimited JSON-RPC over two pipes, with one thread that reads and
//! responds.

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// The default limit for a response.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The handler of the agent's requests.
pub(crate) trait Host: Send + 'static {
    /// Handles a request, whose line was complete at `at`. The response may be given later, from
    /// another thread.
    fn on_request(&mut self, at: Instant, method: &str, params: &Value, answer: Answer);

    /// Observes a line of the agent before it is processed.
    fn on_line(&mut self, _line: &str) {}
}

/// The pending response to a request of the agent.
pub(crate) struct Answer {
    pipe: Pipe,
    id: Value,
}

impl Answer {
    /// Sends the response: a result, or the message of a "method not found" error. A closed pipe is
    /// ignored, because the agent is gone.
    pub(crate) fn give(self, outcome: Result<Value, String>) {
        let mut response = json!({ "jsonrpc": "2.0", "id": self.id });
        match outcome {
            Ok(result) => response["result"] = result,
            Err(text) => response["error"] = json!({ "code": -32601, "message": text }),
        }
        write_line(&self.pipe, &response).ok();
    }
}

type Pipe = Arc<Mutex<Box<dyn Write + Send>>>;

/// A message of the agent, with the time at which its line was complete.
enum Incoming {
    Response {
        at: Instant,
        id: u64,
        outcome: Result<Value, Value>,
    },
    Update {
        at: Instant,
        update: Value,
    },
    /// An event of the native layer.
    Event,
}

/// A `session/update`.
pub(crate) struct Update {
    pub(crate) at: Instant,
    pub(crate) update: Value,
}

/// The response to a request, with everything received before it.
pub(crate) struct Reply {
    /// When the request was written to the pipe.
    pub(crate) sent: Instant,
    /// When the response was read.
    pub(crate) answered: Instant,
    pub(crate) result: Value,
    /// The updates received before the response.
    pub(crate) updates: Vec<Update>,
    /// The number of native events received before it.
    pub(crate) events: usize,
}

impl Reply {
    pub(crate) fn took(&self) -> Duration {
        self.answered - self.sent
    }
}

/// A connection to an agent.
pub(crate) struct Client<H> {
    pipe: Pipe,
    incoming: Receiver<Incoming>,
    host: Arc<Mutex<H>>,
    last_id: u64,
}

/// A response to any request.
pub(crate) struct Response {
    /// The id of the request.
    pub(crate) id: u64,
    /// When it was read.
    pub(crate) at: Instant,
    pub(crate) result: Value,
}

/// A request that awaits its response.
pub(crate) struct Pending {
    pub(crate) id: u64,
    sent: Instant,
}

impl<H: Host> Client<H> {
    /// Starts reading the agent's output and handling its requests.
    pub(crate) fn new(from: impl Read + Send + 'static, to: impl Write + Send + 'static, host: H) -> Self {
        let pipe: Pipe = Arc::new(Mutex::new(Box::new(to)));
        let host = Arc::new(Mutex::new(host));
        let (sender, incoming) = channel();
        let reader = (Arc::clone(&pipe), Arc::clone(&host));
        std::thread::spawn(move || {
            if let Err(error) = read(BufReader::new(from), &reader.0, &reader.1, &sender) {
                eprintln!("xtask: client: {error:#}");
            }
        });
        Self { pipe, incoming, host, last_id: 0 }
    }

    /// Locks the handler; no request is handled meanwhile.
    pub(crate) fn host(&self) -> MutexGuard<'_, H> {
        self.host.lock().expect("no thread panics with the lock held")
    }

    /// Sends a request and waits for its response.
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Result<Reply> {
        let pending = self.send(method, params)?;
        self.wait(pending)
    }

    /// Sends a request.
    pub(crate) fn send(&mut self, method: &str, params: &Value) -> Result<Pending> {
        self.last_id += 1;
        let message = json!({ "jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params });
        let sent = Instant::now();
        write_line(&self.pipe, &message)?;
        Ok(Pending { id: self.last_id, sent })
    }

    /// Closes the agent's input.
    pub(crate) fn hang_up(&self) {
        *self.pipe.lock().expect("no thread panics with the lock held") = Box::new(std::io::sink());
    }

    /// Waits until the agent's output has ended and all of it was handled, or until it was silent
    /// for `patience`.
    pub(crate) fn drain(&self, patience: Duration) {
        while self.incoming.recv_timeout(patience).is_ok() {}
    }

    /// Sends a notification.
    pub(crate) fn notify(&mut self, method: &str, params: &Value) -> Result<()> {
        write_line(&self.pipe, &json!({ "jsonrpc": "2.0", "method": method, "params": params }))
    }

    /// Waits for the response to a request.
    ///
    /// # Errors
    ///
    /// Fails for an error response, or after `PATIENCE` without a message.
    pub(crate) fn wait(&mut self, pending: Pending) -> Result<Reply> {
        self.wait_for(pending, PATIENCE)
    }

    /// Like [`Client::wait`], with another limit on each pause of the agent.
    pub(crate) fn wait_for(&mut self, pending: Pending, patience: Duration) -> Result<Reply> {
        self.wait_while(pending, || patience)
    }

    /// Like [`Client::wait`], with a limit on the total time.
    pub(crate) fn wait_until(&mut self, pending: Pending, end: Instant) -> Result<Reply> {
        self.wait_while(pending, || end.saturating_duration_since(Instant::now()))
    }

    fn wait_while(&mut self, pending: Pending, patience: impl Fn() -> Duration) -> Result<Reply> {
        let (mut updates, mut events) = (Vec::new(), 0);
        loop {
            match self.incoming.recv_timeout(patience()).context("the agent did not answer")? {
                Incoming::Update { at, update } => updates.push(Update { at, update }),
                Incoming::Event => events += 1,
                Incoming::Response { at, id, outcome } if id == pending.id => {
                    return match outcome {
                        Ok(result) => Ok(Reply { sent: pending.sent, answered: at, result, updates, events }),
                        Err(error) => bail!("the agent answered with an error: {error}"),
                    };
                }
                Incoming::Response { id, .. } => {
                    bail!("the agent answered request {id}, which is not pending")
                }
            }
        }
    }
}

impl<H> Client<H> {
    /// Returns the next response to any request; updates and events before it are dropped. An error
    /// response is an error.
    pub(crate) fn next_response(&mut self, patience: Duration) -> Result<Response> {
        loop {
            if let Incoming::Response { at, id, outcome } =
                self.incoming.recv_timeout(patience).context("the agent did not answer")?
            {
                return match outcome {
                    Ok(result) => Ok(Response { id, at, result }),
                    Err(error) => bail!("the agent answered request {id} with an error: {error}"),
                };
            }
        }
    }
}

fn read<H: Host>(mut from: impl BufRead, pipe: &Pipe, host: &Mutex<H>, to: &Sender<Incoming>) -> Result<()> {
    let mut line = String::new();
    while from.read_line(&mut line)? > 0 {
        let at = Instant::now();
        // A killed agent leaves an incomplete line.
        if !line.ends_with('\n') {
            break;
        }
        let mut message: Value = serde_json::from_str(&line).with_context(|| format!("not JSON: {line}"))?;
        let mut host = host.lock().expect("no thread panics with the lock held");
        host.on_line(&line);
        line.clear();
        let method = message["method"].as_str().map(str::to_owned);
        let incoming = match method.as_deref() {
            Some(method) if !message["id"].is_null() => {
                let answer = Answer { pipe: Arc::clone(pipe), id: message["id"].clone() };
                host.on_request(at, method, &message["params"], answer);
                continue;
            }
            Some("session/update") => Incoming::Update { at, update: message["params"]["update"].take() },
            Some(method) if method.starts_with("_tiller/") => Incoming::Event,
            Some(_) => continue,
            None => {
                let id =
                    message["id"].as_u64().with_context(|| format!("a response to nothing: {message}"))?;
                let error = message["error"].take();
                let outcome = if error.is_null() { Ok(message["result"].take()) } else { Err(error) };
                Incoming::Response { at, id, outcome }
            }
        };
        drop(host);
        if to.send(incoming).is_err() {
            break;
        }
    }
    Ok(())
}

fn write_line(pipe: &Pipe, message: &Value) -> Result<()> {
    let mut line = message.to_string();
    line.push('\n');
    let mut pipe = pipe.lock().expect("no thread panics with the lock held");
    pipe.write_all(line.as_bytes()).context("the agent does not read any more")?;
    Ok(pipe.flush()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{PipeReader, PipeWriter, pipe};

    /// A host that only offers terminals.
    #[derive(Default)]
    struct Terminals(usize);

    impl Host for Terminals {
        fn on_request(&mut self, _: Instant, method: &str, _: &Value, answer: Answer) {
            self.0 += 1;
            let result = json!({ "terminalId": format!("terminal-{}", self.0) });
            answer.give(if method == "terminal/create" { Ok(result) } else { Err(format!("no {method}")) });
        }
    }

    /// Connects a client to an agent that the test plays; returns the agent's input and output too.
    fn connect() -> (Client<Terminals>, BufReader<PipeReader>, PipeWriter) {
        let (from_client, to_agent) = pipe().unwrap();
        let (from_agent, to_client) = pipe().unwrap();
        (Client::new(from_agent, to_agent, Terminals::default()), BufReader::new(from_client), to_client)
    }

    fn next(agent: &mut impl BufRead) -> Value {
        let mut line = String::new();
        agent.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    #[test]
    fn a_reply_contains_the_updates_before_it() {
        let (mut client, mut from, mut to) = connect();
        let pending = client.send("session/prompt", &json!({ "sessionId": "s" })).unwrap();
        assert_eq!(next(&mut from)["method"], "session/prompt");
        writeln!(to, r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"update":{{"a":1}}}}}}"#)
            .unwrap();
        writeln!(to, r#"{{"jsonrpc":"2.0","id":1,"result":{{"stopReason":"end_turn"}}}}"#).unwrap();
        let reply = client.wait(pending).unwrap();
        assert_eq!(reply.result["stopReason"], "end_turn");
        assert_eq!(reply.updates[0].update, json!({ "a": 1 }));
        assert!(reply.sent <= reply.updates[0].at && reply.updates[0].at <= reply.answered);
    }

    #[test]
    fn the_agents_requests_are_answered_while_waiting() {
        let (client, mut from, mut to) = connect();
        writeln!(to, r#"{{"jsonrpc":"2.0","id":"x","method":"terminal/create","params":{{}}}}"#).unwrap();
        assert_eq!(
            next(&mut from),
            json!({ "jsonrpc": "2.0", "id": "x", "result": { "terminalId": "terminal-1" } })
        );
        assert_eq!(client.host().0, 1);
        writeln!(to, r#"{{"jsonrpc":"2.0","id":"y","method":"no/such","params":{{}}}}"#).unwrap();
        assert_eq!(next(&mut from)["error"]["code"], -32601);
    }

    #[test]
    fn errors_and_a_closed_pipe_end_the_wait() {
        let (mut client, _from, mut to) = connect();
        let pending = client.send("session/new", &json!({})).unwrap();
        writeln!(to, r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":-32602,"message":"no cwd"}}}}"#).unwrap();
        assert!(client.wait(pending).err().unwrap().to_string().contains("no cwd"));
        let pending = client.send("session/new", &json!({})).unwrap();
        drop(to);
        assert!(client.wait(pending).err().unwrap().to_string().contains("did not answer"));
    }
}
