//! Administration over the Unix socket.

use crate::{
    application::{READER, Scripted},
    raw::{LOCAL, Response, Socket, send},
    tokens::MemoryTokens,
};
use agent::Scope;
use async_trait::async_trait;
use serde_json::{Value, json};
use serve::{
    Listener, Problem, ServeOptions, Server,
    admin::{AdminRequest, Administration, AskError, Node, Selection, ask},
    auth::Source,
};
use std::{net::Ipv4Addr, sync::Arc};
use tokio_util::sync::CancellationToken;

/// Lists and closes connections.
struct Steward;

#[async_trait]
impl Administration for Steward {
    async fn answer(&self, node: &Node, request: AdminRequest) -> Result<Value, Problem> {
        let users = |all: Vec<serve::admin::ConnectionInfo>| json!({ "users": all.iter().map(|info| info.principal.user.clone()).collect::<Vec<_>>() });
        match (request.command.as_str(), request.changes) {
            ("connections", false) => Ok(users(node.connections())),
            ("disconnect", true) => {
                let user = request.params["user"].as_str().unwrap().to_owned();
                Ok(users(node.disconnect(&Selection::User { tenant: None, user })))
            }
            _ => Err(request.unknown()),
        }
    }
}

fn server(tokens: Arc<MemoryTokens>) -> Server {
    let application = Arc::new(Scripted::default());
    application.server(tokens, ServeOptions::default()).administered(Arc::new(Steward))
}

async fn get(server: &Server, source: Source, path: &str, more: &str) -> Response {
    let text = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{more}\r\n");
    send(server, source, &text).await
}

#[tokio::test]
async fn administration_exists_on_the_unix_socket_only_and_for_administrators_only() {
    let tokens = Arc::new(MemoryTokens::default());
    let (token, _) = tokens.add("ada", &Scope::ALL);
    let server = server(tokens);
    let bearer = format!("Authorization: Bearer {}\r\n", token.expose());
    assert_eq!(get(&server, LOCAL, "/admin/connections", "").await.status, 200);
    // A token with every scope finds nothing on the network, and nothing tells that apart from a
    // path that does not exist.
    let address = Source::Address(Ipv4Addr::LOCALHOST.into());
    let body = |response: Response| response.text.split_once("\r\n\r\n").unwrap().1.to_owned();
    let unknown = body(get(&server, address, "/unknown", &bearer).await);
    for path in ["/admin/connections", "/admin/disconnect", "/admin/none", "/admin/", "/admin"] {
        let response = get(&server, address, path, &bearer).await;
        assert_eq!(response.status, 404, "{path}");
        assert_eq!(body(response), unknown, "{path}");
    }
    // A user of the machine without the scope is refused by its name.
    let refused = get(&server, Source::Unix(READER), "/admin/connections", "").await;
    assert!(refused.status == 403 && refused.text.contains("admin"), "{refused:?}");
    // A page in a browser cannot reach a Unix socket; one that can is refused all the same.
    assert_eq!(get(&server, LOCAL, "/admin/connections", "Origin: http://localhost\r\n").await.status, 403);
    assert_eq!(get(&server, LOCAL, "/admin/none", "").await.status, 404);
    assert_eq!(get(&server, LOCAL, "/admin/disconnect", "").await.status, 404, "only a POST changes");
}

#[tokio::test]
async fn a_disconnected_client_is_told_not_to_resume_and_others_stay() {
    let tokens = Arc::new(MemoryTokens::default());
    let (ada, bob) = (tokens.add("ada", &[Scope::Connect]).0, tokens.add("bob", &[Scope::Connect]).0);
    let server = server(tokens);
    let from = Source::Address(Ipv4Addr::LOCALHOST.into());
    let mut sockets = Vec::new();
    for token in [&ada, &bob] {
        let bearer = format!("Bearer {}", token.expose());
        let mut socket = Socket::open(&server, from, &[("authorization", &bearer)]).await.unwrap();
        socket.request(1, "initialize", json!({})).await;
        socket.next().await.unwrap();
        sockets.push(socket);
    }
    let [mut first, mut second] = <[Socket; 2]>::try_from(sockets).ok().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("private/serve.sock");
    server.listen(Listener::unix(path.clone()).await.unwrap());
    assert_eq!(ask(&path, "connections", None).await.unwrap(), json!({ "users": ["ada", "bob"] }));
    let closed = ask(&path, "disconnect", Some(&json!({ "user": "ada" }))).await.unwrap();
    assert_eq!(closed, json!({ "users": ["ada"] }));
    let (code, why) = first.closed().await;
    assert!(code == 4410 && why.contains("administrator"), "{code} {why}");
    assert_eq!(ask(&path, "connections", None).await.unwrap(), json!({ "users": ["bob"] }));
    // Its client cannot continue the connection, and learns why.
    let bearer = format!("Bearer {}", ada.expose());
    let headers = [("authorization", &*bearer), ("acp-connection-id", &first.id), ("acp-last-frame", "1")];
    let refused = Socket::open(&server, from, &headers).await.err().unwrap();
    assert_eq!(refused.status(), 409);
    second.request(2, "echo", json!({})).await;
    assert_eq!(second.next().await.unwrap()["id"], 2);
    let unknown = ask(&path, "none", None).await.unwrap_err();
    assert!(matches!(unknown, AskError::Refused(_)), "{unknown}");
    // Without a server, the socket is not reachable.
    let stop = CancellationToken::new();
    stop.cancel();
    server.run(stop).await;
    let gone = ask(&path, "connections", None).await.unwrap_err();
    assert!(matches!(gone, AskError::Unreachable { .. }), "{gone}");
}
