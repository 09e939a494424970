//! Renewal of an expired token, against a token endpoint on this machine.

use crate::{fake_machine::FakeMachine, test_session::options};
use async_trait::async_trait;
use mcp::{Client, ConnectError, Grants, McpOptions, Origin, parse};
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use serde_json::json;
use std::sync::Arc;
use system::AbsPath;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

/// A store with one grant, which has expired.
struct ExpiredGrant(String);

#[async_trait]
impl Grants for ExpiredGrant {
    async fn load(&self, _server: &str) -> Option<String> {
        Some(self.0.clone())
    }

    async fn keep(&self, _server: &str, _grant: Option<String>) -> Result<(), String> {
        Ok(())
    }

    fn now(&self) -> u64 {
        1_000
    }
}

/// A client for plain HTTP; the library requires a TLS configuration even so.
fn client_without_tls() -> reqwest::Client {
    let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    reqwest::Client::builder().tls_backend_preconfigured(tls).no_proxy().build().unwrap()
}

/// Connects to a server whose token endpoint answers with this status line.
#[expect(clippy::disallowed_methods, reason = "the token endpoint of the test is on this machine")]
async fn error_after(status_line: &'static str) -> ConnectError {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let endpoint = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let (mut request, mut buffer) = (Vec::new(), [0; 1024]);
        while !request.ends_with(b"resource=r") {
            let read = stream.read(&mut buffer).await.unwrap();
            request.extend_from_slice(&buffer[..read]);
        }
        let response = format!("HTTP/1.1 {status_line}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        stream.write_all(response.as_bytes()).await.unwrap();
    });
    let grant = json!({
        "version": 1, "url": format!("{base}/mcp"), "token_endpoint": format!("{base}/token"), "resource": "r",
        "client_id": "c", "access_token": "old-token", "refresh_token": "refresh-token", "expires": 1,
    });
    let mut options = McpOptions::clone(&options(&FakeMachine::new()));
    options.stores.grants = Arc::new(ExpiredGrant(grant.to_string()));
    options.http = Arc::new(|_| Ok(client_without_tls()));
    let described = json!({ "mcpServers": { "s": { "url": format!("{base}/mcp") } } });
    let server = parse(&described.to_string(), &Origin::User).unwrap().remove(0).1.unwrap();
    let cwd = AbsPath::new("/w").unwrap();
    let connected = Client::connect(&server, &options, &cwd, Arc::default()).await;
    endpoint.await.unwrap();
    connected.err().unwrap()
}

#[tokio::test]
async fn a_token_endpoint_that_is_busy_is_tried_again() {
    for status_line in ["408 Request Timeout", "429 Too Many Requests", "503 Service Unavailable"] {
        let error = error_after(status_line).await;
        let ConnectError::Transient(why) = &error else { panic!("{status_line}: {error:?}") };
        let status = &status_line[..3];
        assert_eq!(*why, format!("127.0.0.1 refused ({status}): no reason given"));
    }
}

#[tokio::test]
async fn a_refused_renewal_requires_a_sign_in() {
    for status_line in ["400 Bad Request", "401 Unauthorized"] {
        let error = error_after(status_line).await;
        let ConnectError::SignInRequired(why) = &error else { panic!("{status_line}: {error:?}") };
        assert!(why.contains("refused (4") && why.contains("`tiller mcp login s`"), "{why}");
    }
}
