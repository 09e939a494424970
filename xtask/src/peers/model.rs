//! A scripted model server on loopback that speaks the chat-completions wire format.

use super::http::{Request, read_request, write_chunk, write_event_stream_head, write_json};
use anyhow::{Context, Result};
use std::io::{BufReader, BufWriter, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;

/// Responds to each request with the events that `answer` returns, in one burst, or with 404.
/// Returns the address; the threads end with the process.
pub(crate) fn serve(
    answer: impl Fn(&Request) -> Option<Vec<String>> + Send + Sync + 'static,
) -> Result<SocketAddr> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).context("no port for the model server")?;
    let address = listener.local_addr()?;
    let answer = Arc::new(answer);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = Arc::clone(&answer);
            // A killed program disconnects in the middle, which is no error here.
            std::thread::spawn(move || converse(&stream, answer.as_ref()).ok());
        }
    });
    Ok(address)
}

fn converse(stream: &TcpStream, answer: &dyn Fn(&Request) -> Option<Vec<String>>) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut from = BufReader::new(stream);
    while let Some(request) = read_request(&mut from)? {
        let last = request.asks_to_close();
        let Some(events) = answer(&request) else {
            write_json(&mut &*stream, "404 Not Found", r#"{"error":{"message":"no script for this"}}"#)?;
            continue;
        };
        let mut to = BufWriter::new(stream);
        write_event_stream_head(&mut to)?;
        for event in events {
            write_chunk(&mut to, &format!("data: {event}\n\n"))?;
        }
        write_chunk(&mut to, "")?;
        to.flush()?;
        if last {
            break;
        }
    }
    Ok(())
}
