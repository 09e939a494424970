//! A host of git repositories over HTTPS that asks for a password: `git http-backend` behind a
//! server of the test.

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio_rustls::TlsAcceptor;

/// The name of the host.
pub(crate) const NAME: &str = "git.ok.test";

/// `me:secret` as basic authorization.
const AUTHORIZATION: &str = "Basic bWU6c2VjcmV0";

/// Serves the repositories below a directory. Returns the address and the settings of a client that
/// trusts the host. Repositories whose names begin with `public` need no password for reading.
pub(crate) async fn serve(root: PathBuf) -> (SocketAddr, rustls::ClientConfig) {
    let made = rcgen::generate_simple_self_signed(vec![NAME.to_owned()]).unwrap();
    let certificate = made.cert.der().clone();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let provider = || Arc::new(rustls::crypto::ring::default_provider());
    let server = rustls::ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .unwrap();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate).unwrap();
    let client = rustls::ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(server));
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let (acceptor, root) = (acceptor.clone(), root.clone());
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(stream).await else { return };
                let service = service_fn(|request| answer(root.clone(), request));
                let server = hyper::server::conn::http1::Builder::new();
                server.serve_connection(TokioIo::new(stream), service).await.ok();
            });
        }
    });
    (address, client)
}

async fn answer(root: PathBuf, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let (parts, body) = request.into_parts();
    let header = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("");
    let (path, query) = (parts.uri.path().to_owned(), parts.uri.query().unwrap_or("").to_owned());
    let is_public = path.starts_with("/public") && !format!("{path}?{query}").contains("receive-pack");
    if !is_public && header("authorization") != AUTHORIZATION {
        let mut response = Response::new(Full::default());
        *response.status_mut() = StatusCode::UNAUTHORIZED;
        response.headers_mut().insert("www-authenticate", "Basic realm=\"x\"".parse().unwrap());
        return Ok(response);
    }
    assert_eq!(header("host"), NAME);
    if path.ends_with("/info/lfs/objects/batch") {
        return Ok(Response::new(Full::new(Bytes::from_static(b"{\"objects\":[]}"))));
    }
    let body = body.collect().await?.to_bytes();
    let mut child = Command::new("git")
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("REMOTE_USER", "me")
        .env("PATH_INFO", path)
        .env("QUERY_STRING", query)
        .env("REQUEST_METHOD", parts.method.as_str())
        .env("CONTENT_TYPE", header("content-type"))
        .env("CONTENT_LENGTH", body.len().to_string())
        .env("HTTP_CONTENT_ENCODING", header("content-encoding"))
        .env("GIT_PROTOCOL", header("git-protocol"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let writing = tokio::spawn(async move { input.write_all(&body).await });
    let output = child.wait_with_output().await.unwrap().stdout;
    // It may end before it has read everything.
    drop(writing.await.unwrap());
    let end = output.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
    let head = std::str::from_utf8(&output[..end]).unwrap();
    let mut response = Response::new(Full::new(Bytes::copy_from_slice(&output[end + 4..])));
    for (name, value) in head.lines().filter_map(|line| line.split_once(": ")) {
        match name {
            "Status" => *response.status_mut() = value[..3].parse().unwrap(),
            _ => {
                let name: hyper::header::HeaderName = name.parse().unwrap();
                response.headers_mut().insert(name, value.parse().unwrap());
            }
        }
    }
    Ok(response)
}
