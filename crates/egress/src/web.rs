//! Connections to port 80: each request is read, and its `Host` compared with the destination.

use crate::dial::Dialer;
use crate::limits::{HEAD_BYTES, HELLO_WAIT};
use crate::outbound::{Refused, connected, http, send};
use agent::{ConnectionJudge, Destination};
use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use hyper::header::{CONNECTION, HOST, UPGRADE};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Uri, Version};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio::sync::Mutex;

type Body = Either<Incoming, Full<Bytes>>;

/// The connection to the host, which is made for the first request.
type Host = Mutex<Option<SendRequest<Incoming>>>;

/// Serves a connection of a command.
pub(crate) async fn serve(
    dialer: &Arc<dyn Dialer>,
    stream: &mut TcpStream,
    judge: &Arc<dyn ConnectionJudge>,
    destination: &Destination,
) -> Result<(), Refused> {
    let host = Host::default();
    let service = service_fn(async |request: Request<Incoming>| {
        let answer = match answer(dialer, judge, destination, &host, request).await {
            Ok(response) => response.map(Either::Left),
            Err((status, reason)) => {
                judge.refused(destination, &reason);
                refusal(destination, status, &reason)
            }
        };
        Ok::<_, hyper::Error>(answer)
    });
    let serving = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HELLO_WAIT)
        .max_buf_size(HEAD_BYTES)
        .preserve_header_case(true)
        .serve_connection(TokioIo::new(stream), service);
    // The command closes the connection, or does something that is no HTTP.
    if let Err(error) = serving.await {
        tracing::debug!(%error, "a connection of a command ended");
    }
    Ok(())
}

/// Passes a request to the host if it is meant for the destination.
async fn answer(
    dialer: &Arc<dyn Dialer>,
    judge: &Arc<dyn ConnectionJudge>,
    destination: &Destination,
    host: &Host,
    mut request: Request<Incoming>,
) -> Result<Response<Incoming>, (StatusCode, String)> {
    let forbidden = |reason: String| (StatusCode::FORBIDDEN, reason);
    if request.method() == Method::CONNECT {
        return Err((StatusCode::METHOD_NOT_ALLOWED, "the request asks for a tunnel".to_owned()));
    }
    if request.headers().contains_key(UPGRADE) {
        return Err(forbidden("the request asks for another protocol".to_owned()));
    }
    expect_host(&request, destination).map_err(forbidden)?;
    if judge.is_for_reading(destination) && ![Method::GET, Method::HEAD].contains(request.method()) {
        return Err(forbidden("only GET and HEAD are allowed in the clear".to_owned()));
    }
    if let Some(path) = request.uri().path_and_query().cloned() {
        *request.uri_mut() = Uri::from(path);
    }
    *request.version_mut() = Version::HTTP_11;
    request.headers_mut().remove(CONNECTION);
    let mut host = host.lock().await;
    if host.as_ref().is_none_or(SendRequest::is_closed) {
        let stream = connected(dialer.as_ref(), judge, destination).await.map_err(forbidden)?;
        let count = stream.count();
        *host = Some(http(stream, count).await.map_err(forbidden)?);
    }
    let sender = host.as_mut().ok_or_else(|| forbidden("there is no connection".to_owned()))?;
    send(sender, request).await.map_err(|error| (StatusCode::BAD_GATEWAY, error.to_string()))
}

/// Checks that a request names the host of the destination, once, in each place that names one.
fn expect_host(request: &Request<Incoming>, destination: &Destination) -> Result<(), String> {
    let Destination::Host { name, port } = destination else { return Ok(()) };
    let mut hosts = request.headers().get_all(HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return Err("the request does not name one host".to_owned());
    };
    let named = [host.to_str().ok(), request.uri().authority().map(hyper::http::uri::Authority::as_str)];
    let is_it = |named: &str| {
        let plain = named.strip_suffix(&format!(":{port}")).unwrap_or(named);
        plain.eq_ignore_ascii_case(name)
    };
    if named[0].is_none() || !named.into_iter().flatten().all(is_it) {
        return Err("the request names another host".to_owned());
    }
    Ok(())
}

fn refusal(destination: &Destination, status: StatusCode, reason: &str) -> Response<Body> {
    let text = format!("sandbox: {destination} was refused: {reason}\n");
    let mut response = Response::new(Either::Right(Full::new(Bytes::from(text))));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(hyper::header::CONTENT_TYPE, hyper::header::HeaderValue::from_static("text/plain"));
    headers.insert(CONNECTION, hyper::header::HeaderValue::from_static("close"));
    response
}
