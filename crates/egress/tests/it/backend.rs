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
use std::sync::Arc;
use system::{AbsPath, Confinement, LocalSystem, Piped, PipedCommand, System};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
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
    if let Some(end) = path.strip_prefix("/moved.git") {
        let mut response = Response::new(Full::default());
        *response.status_mut() = StatusCode::MOVED_PERMANENTLY;
        let location = format!("https://{NAME}/private.git{end}?{query}");
        response.headers_mut().insert("location", location.parse().unwrap());
        return Ok(response);
    }
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
    let variables = [
        ("PATH", std::env::var("PATH").unwrap()),
        ("GIT_PROJECT_ROOT", root.to_str().unwrap().to_owned()),
        ("GIT_HTTP_EXPORT_ALL", "1".to_owned()),
        ("REMOTE_USER", "me".to_owned()),
        ("PATH_INFO", path),
        ("QUERY_STRING", query),
        ("REQUEST_METHOD", parts.method.to_string()),
        ("CONTENT_TYPE", header("content-type").to_owned()),
        ("CONTENT_LENGTH", body.len().to_string()),
        ("HTTP_CONTENT_ENCODING", header("content-encoding").to_owned()),
        ("GIT_PROTOCOL", header("git-protocol").to_owned()),
    ];
    let command = PipedCommand {
        program: "git".to_owned(),
        args: vec!["http-backend".to_owned()],
        cwd: AbsPath::new("/").unwrap(),
        inherit: Vec::new(),
        env: variables.map(|(name, value)| (name.to_owned(), value)).to_vec(),
        error_limit: 4096,
        confinement: Confinement::Lifted,
        apart_from: Vec::new(),
    };
    let Piped { mut input, output: mut from, process: _process } =
        LocalSystem::new().spawn_piped(command).await.unwrap();
    let writing = async move {
        // It may end before it has read everything.
        input.write_all(&body).await.ok();
        input.shutdown().await.ok();
    };
    let mut output = Vec::new();
    let (_, read) = tokio::join!(writing, from.read_to_end(&mut output));
    read.unwrap();
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
