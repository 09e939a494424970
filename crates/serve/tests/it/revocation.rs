//! Credentials that end while they are used.

use crate::{
    application::Scripted,
    raw::{Socket, read_until, request, send, write},
    tokens::MemoryTokens,
};
use agent::Scope;
use jiff::Timestamp;
use serde_json::json;
use serve::{
    ServeOptions,
    auth::{Revocation, Source},
};
use std::{net::Ipv4Addr, sync::Arc, time::Duration};
use tokio::time::Instant;

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#;
const ECHO: &str = r#"{"jsonrpc":"2.0","id":2,"method":"echo","params":{}}"#;

#[tokio::test(start_paused = true)]
async fn a_credential_that_ends_closes_sockets_and_streams_within_five_seconds() {
    let source = Source::Address(Ipv4Addr::LOCALHOST.into());
    for expires in [false, true] {
        let application = Arc::new(Scripted::default());
        let tokens = Arc::new(MemoryTokens::default());
        let server = application.server(tokens.clone(), ServeOptions::default());
        let (token, id) = tokens.add("ada", &[Scope::Connect]);
        let (other, _) = tokens.add("ada", &[Scope::Connect]);
        let bearer = format!("Bearer {}", token.expose());
        let other = format!("Bearer {}", other.expose());
        let mut socket = Socket::open(&server, source, &[("authorization", &bearer)]).await.unwrap();
        let mut kept = Socket::open(&server, source, &[("authorization", &other)]).await.unwrap();
        let mut unused = Socket::open(&server, source, &[("authorization", &bearer)]).await.unwrap();
        for socket in [&mut socket, &mut kept] {
            socket.request(1, "initialize", json!({})).await;
            socket.next().await.unwrap();
        }
        let opened = send(&server, source, &request("POST", &[("Authorization", &bearer)], INITIALIZE)).await;
        let connection = opened.header("acp-connection-id").unwrap();
        let headers =
            [("Authorization", &*bearer), ("Acp-Connection-Id", connection), ("Accept", "text/event-stream")];
        let mut events = write(&server, source, request("GET", &headers, "").as_bytes()).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        tokens.change(&id, |row| match expires {
            true => row.expires = Some(Timestamp::UNIX_EPOCH),
            false => {
                row.revoked = Some(Revocation { at: Timestamp::UNIX_EPOCH, stop_turns: false });
            }
        });
        let begun = Instant::now();
        assert_eq!(socket.closed().await.0, 4401);
        assert_eq!(unused.closed().await.0, 4401, "also before its first message");
        let mut text = String::new();
        read_until(&mut events, &mut text, |_| false).await;
        assert!(text.starts_with("HTTP/1.1 200"), "{text}");
        assert!(begun.elapsed() <= Duration::from_secs(5), "{:?}", begun.elapsed());
        let after = send(&server, source, &request("POST", &headers[..2], ECHO)).await;
        assert_eq!(after.status, 401, "{}", after.text);
        kept.request(2, "echo", json!({})).await;
        assert_eq!(kept.next().await.unwrap()["id"], 2, "another credential of the user goes on");
    }
}
