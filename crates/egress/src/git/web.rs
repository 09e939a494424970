//! Repositories at addresses of HTTPS. A command sends the requests of git's HTTP protocol in the
//! clear, and this passes on those that fetch, that push once the user has agreed, and those of Git
//! LFS. The user's credential is added where the host asks for one.

use super::{HOST, Repository, Session, address::HTTPS_PORT, push};
use crate::counted::Counted;
use crate::limits::{HEAD_BYTES, HELLO_WAIT};
use crate::outbound::{self, send};
use agent::{ConnectionJudge, Destination};
use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Either, Full, Limited};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::client::conn::http1::SendRequest;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::net::TcpStream;
use tokio::sync::Mutex;

/// Maximum size of a request of Git LFS, in bytes.
const LFS_BYTES: usize = 1 << 20;

/// The headers that reach the host.
const PASSED: [HeaderName; 6] = [
    header::ACCEPT,
    header::ACCEPT_ENCODING,
    header::ACCEPT_LANGUAGE,
    header::CONTENT_ENCODING,
    header::CONTENT_TYPE,
    header::USER_AGENT,
];

type Answer = Response<Either<Incoming, Full<Bytes>>>;
type Sent = UnsyncBoxBody<Bytes, hyper::Error>;

/// A refusal: the status and the text that git prints.
type Refusal = (StatusCode, String);

/// The connection to a host, with the authority that it is for.
type Host = Mutex<Option<(String, SendRequest<Sent>)>>;

/// What a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// The references, before a fetch.
    List,
    /// The references, before a push.
    ListForPush,
    Fetch,
    Push,
    /// The addresses of files of Git LFS.
    Files,
    /// The locks of files of Git LFS.
    Locks,
}

impl Purpose {
    /// Returns what a request is for, and the path of the repository.
    fn of<'a>(method: &Method, path: &'a str, query: Option<&str>) -> Option<(Self, &'a str)> {
        let (is_get, is_post) = (method == Method::GET, method == Method::POST);
        let list = match query {
            Some("service=git-upload-pack") => Some(Self::List),
            Some("service=git-receive-pack") => Some(Self::ListForPush),
            _ => None,
        };
        [
            ("/info/refs", list.filter(|_| is_get)),
            ("/git-upload-pack", Some(Self::Fetch).filter(|_| is_post)),
            ("/git-receive-pack", Some(Self::Push).filter(|_| is_post)),
            ("/info/lfs/objects/batch", Some(Self::Files).filter(|_| is_post)),
            ("/info/lfs/locks/verify", Some(Self::Locks).filter(|_| is_post)),
        ]
        .into_iter()
        .filter(|_| is_get || query.is_none())
        .find_map(|(end, purpose)| Some((purpose?, path.strip_suffix(end)?)))
    }

    /// Returns whether it serves to change the repository.
    fn is_for_pushing(self) -> bool {
        matches!(self, Self::ListForPush | Self::Push | Self::Locks)
    }
}

/// Serves a connection of a command.
pub(crate) async fn serve(session: &Session<'_>, stream: &mut TcpStream, judge: &Arc<dyn ConnectionJudge>) {
    let host = Host::default();
    let service = service_fn(async |request: Request<Incoming>| {
        let answered = Exchange { session, judge, host: &host }.answer(request).await;
        Ok::<_, hyper::Error>(answered.unwrap_or_else(refusal))
    });
    let serving = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HELLO_WAIT)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    if let Err(error) = serving.await {
        tracing::debug!(%error, "a connection of git ended");
    }
}

/// The repository of a request.
struct Target<'a> {
    /// Its path in the room.
    key: &'a str,
    /// What is known of it; `None` if the project did not name it.
    known: Option<&'a Repository>,
    destination: Destination,
    /// The host, with a port that is not the usual one.
    authority: &'a str,
    path: &'a str,
}

struct Exchange<'a> {
    session: &'a Session<'a>,
    judge: &'a Arc<dyn ConnectionJudge>,
    host: &'a Host,
}

impl Exchange<'_> {
    async fn answer(&self, request: Request<Incoming>) -> Result<Answer, Refusal> {
        let (parts, body) = request.into_parts();
        let forbidden = |reason: &str| (StatusCode::FORBIDDEN, reason.to_owned());
        let named = parts.headers.get(header::HOST).and_then(|host| host.to_str().ok());
        if named != Some(HOST) {
            return Err(forbidden("the request names another host"));
        }
        let (purpose, key) = Purpose::of(&parts.method, parts.uri.path(), parts.uri.query())
            .ok_or_else(|| forbidden("only fetches and pushes of git are served here"))?;
        let target = self.target(key).ok_or_else(|| forbidden("the path names no repository"))?;
        let refused = |(status, reason): Refusal| {
            self.judge.refused(&target.destination, &reason);
            (status, reason)
        };
        self.decided(purpose, &target, &parts, body).await.map_err(refused)
    }

    fn target<'a>(&'a self, key: &'a str) -> Option<Target<'a>> {
        let rest = key.strip_prefix('/')?;
        let (authority, path) = rest.split_at(rest.find('/')?);
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) => (host, port.parse().ok()?),
            None => (authority, HTTPS_PORT),
        };
        let known = self.session.repositories.get(key).filter(|found| !found.address.is_ssh());
        let destination = match known {
            Some(repository) => repository.address.destination()?,
            None => Destination::host(host, port)?,
        };
        Some(Target { key, known, destination, authority, path })
    }

    async fn decided(
        &self,
        purpose: Purpose,
        target: &Target<'_>,
        parts: &hyper::http::request::Parts,
        body: Incoming,
    ) -> Result<Answer, Refusal> {
        let forbidden = |reason: String| (StatusCode::FORBIDDEN, reason);
        if purpose.is_for_pushing() && target.known.is_none() {
            let place = format!("https://{}{}", target.authority, target.path);
            return Err(forbidden(format!(
                "{place} is no remote that the project had when the session began, so nothing is pushed to it"
            )));
        }
        let is_encoded = parts.headers.contains_key(header::CONTENT_ENCODING);
        let (body, is_empty) = match (purpose, target.known) {
            (Purpose::Push, Some(_)) if is_encoded => {
                return Err(forbidden("a push that is compressed as a whole cannot be read".to_owned()));
            }
            (Purpose::Push, Some(repository)) => {
                match self.push(repository, body).await.map_err(forbidden)? {
                    Pushed::Allowed(body) => (body.boxed_unsync(), false),
                    Pushed::Refused { answer, reason } => {
                        self.judge.refused(&target.destination, &reason);
                        return Ok(rejected(answer));
                    }
                }
            }
            (Purpose::Files, known) => (self.files(known, body).await.map_err(forbidden)?, false),
            (Purpose::List | Purpose::ListForPush, _) => (empty(), true),
            _ => (body.boxed_unsync(), false),
        };
        let stored = self.session.repositories.credentials().get(target.key).cloned();
        let credential = stored.or_else(|| target.known?.authorization.clone());
        let mut response = self.pass(target, parts, body, credential.as_deref()).await?;
        if is_empty && response.status().is_redirection() && self.follow(target, &response) {
            response = self.pass(target, parts, empty(), credential.as_deref()).await?;
        }
        if response.status() != StatusCode::UNAUTHORIZED {
            return Ok(response.map(Either::Left));
        }
        let Some(repository) = target.known else {
            let place = format!("https://{}{}", target.authority, target.path);
            return Err(forbidden(format!(
                "{place} needs a password, and is no remote that the project had when the session began"
            )));
        };
        if credential.is_some() {
            self.session.repositories.credentials().remove(target.key);
            return Err(forbidden(format!("{} refused the user's password", target.authority)));
        }
        // What a push sends is asked about by itself.
        if purpose != Purpose::ListForPush {
            let reached = self.judge.reach(&repository.named(), &target.destination, true).await;
            reached.map_err(forbidden)?;
        }
        let found =
            self.session.git.programs.credential(&repository.address, &self.session.repositories.roots).await;
        let found = found.map_err(|why| {
            let hint = "the user can store one by a `git fetch` in a terminal";
            forbidden(format!("{} needs a password, and git has none ({why}); {hint}", repository.address))
        })?;
        self.session.repositories.credentials().insert(target.key.to_owned(), found.clone());
        if !is_empty {
            return Err((
                StatusCode::SERVICE_UNAVAILABLE,
                "the host asked for a password; try again".to_owned(),
            ));
        }
        let response = self.pass(target, parts, empty(), Some(&found)).await?;
        if response.status() == StatusCode::UNAUTHORIZED {
            self.session.repositories.credentials().remove(target.key);
            return Err(forbidden(format!("{} refused the user's password", target.authority)));
        }
        Ok(response.map(Either::Left))
    }

    /// Notes the path to which the host has moved a repository; returns whether it did.
    fn follow(&self, target: &Target<'_>, response: &Response<Incoming>) -> bool {
        let location = response.headers().get(header::LOCATION).and_then(|value| value.to_str().ok());
        let path = location.and_then(|location| {
            let rest = location.strip_prefix("https://")?.strip_prefix(target.authority)?;
            rest.split('?').next()?.strip_suffix("/info/refs").filter(|path| path.starts_with('/'))
        });
        let Some(path) = path.filter(|_| target.known.is_some()) else { return false };
        self.session.repositories.moved().insert(target.key.to_owned(), path.to_owned());
        true
    }

    /// Asks about a push.
    async fn push(&self, repository: &Repository, mut rest: Incoming) -> Result<Pushed, String> {
        let mut first = Vec::new();
        let mut head = push::Head::default();
        while !head.read(&first)? {
            match rest.frame().await {
                Some(Ok(frame)) => first.extend(frame.into_data().unwrap_or_default()),
                Some(Err(error)) => return Err(error.to_string()),
                None => return Err("the push ended early".to_owned()),
            }
        }
        if head.changes.is_empty() {
            return Ok(Pushed::Allowed(Prefixed { first: Some(first.into()), rest }));
        }
        if let Err(reason) = self.judge.push(&repository.push(head.changes)).await {
            // A client reads no answer before it has sent everything.
            while let Some(Ok(_)) = rest.frame().await {}
            return Ok(Pushed::Refused { answer: push::rejection(&first, &reason), reason });
        }
        Ok(Pushed::Allowed(Prefixed { first: Some(first.into()), rest }))
    }

    /// Asks about uploads of files by Git LFS.
    async fn files(&self, known: Option<&Repository>, body: Incoming) -> Result<Sent, String> {
        let body =
            Limited::new(body, LFS_BYTES).collect().await.map_err(|error| error.to_string())?.to_bytes();
        let request: serde_json::Value =
            serde_json::from_slice(&body).map_err(|_| "the request of Git LFS is not JSON".to_owned())?;
        match (request["operation"].as_str(), known) {
            (Some("download"), _) => {}
            (Some("upload"), Some(repository)) => self.judge.push(&repository.push(Vec::new())).await?,
            _ => return Err("only files of the project's remotes are uploaded by Git LFS".to_owned()),
        }
        Ok(Full::new(body).map_err(|never| match never {}).boxed_unsync())
    }

    /// Passes a request on.
    async fn pass(
        &self,
        target: &Target<'_>,
        parts: &hyper::http::request::Parts,
        body: Sent,
        credential: Option<&str>,
    ) -> Result<Response<Incoming>, Refusal> {
        let bad = |error: String| (StatusCode::BAD_GATEWAY, error);
        let end = parts.uri.path_and_query().map_or("", |path| &path.as_str()[target.key.len()..]);
        let moved = self.session.repositories.moved().get(target.key).cloned();
        let path = moved.as_deref().unwrap_or(target.path);
        let mut request = Request::builder()
            .method(&parts.method)
            .uri(format!("{path}{end}"))
            .header(header::HOST, target.authority)
            .body(body)
            .map_err(|error| bad(error.to_string()))?;
        let is_passed = |name: &HeaderName| PASSED.contains(name) || name == "git-protocol";
        let headers = parts.headers.iter().filter(|(name, _)| is_passed(name));
        request.headers_mut().extend(headers.map(|(name, value)| (name.clone(), value.clone())));
        let own = parts.headers.get(header::AUTHORIZATION).cloned();
        if let Some(value) = credential.and_then(|value| HeaderValue::from_str(value).ok()).or(own) {
            request.headers_mut().insert(header::AUTHORIZATION, value);
        }
        let mut host = self.host.lock().await;
        let is_usable = |(authority, sender): &(String, SendRequest<Sent>)| {
            authority == target.authority && !sender.is_closed()
        };
        if !host.as_ref().is_some_and(is_usable) {
            let sender = self.connect(target).await.map_err(|reason| (StatusCode::FORBIDDEN, reason))?;
            *host = Some((target.authority.to_owned(), sender));
        }
        let (_, sender) = host.as_mut().ok_or_else(|| bad("there is no connection".to_owned()))?;
        let mut response = send(sender, request).await.map_err(|error| bad(error.to_string()))?;
        remove_hop_headers(response.headers_mut());
        Ok(response)
    }

    async fn connect(&self, target: &Target<'_>) -> Result<SendRequest<Sent>, String> {
        let Session { dialer, .. } = self.session;
        let stream = match target.known {
            // What is pushed is asked about.
            Some(repository) => {
                self.judge.reach(&repository.named(), &target.destination, false).await?;
                outbound::dialed(*dialer, self.judge, &target.destination).await?.without_bound()
            }
            None => outbound::connected(*dialer, self.judge, &target.destination).await?,
        };
        let count = stream.count();
        let name = target.authority.split(':').next().unwrap_or_default().to_owned();
        let name = rustls::pki_types::ServerName::try_from(name).map_err(|error| error.to_string())?;
        let secure = tokio_rustls::TlsConnector::from(self.session.git.tls()?);
        let stream: tokio_rustls::client::TlsStream<Counted> =
            secure.connect(name, stream).await.map_err(|error| error.to_string())?;
        outbound::http(stream, count).await
    }
}

/// A push that was decided about.
enum Pushed {
    /// The body of the request.
    Allowed(Prefixed),
    Refused {
        answer: Vec<u8>,
        reason: String,
    },
}

/// Returns the answer to a push that is refused.
fn rejected(answer: Vec<u8>) -> Answer {
    let mut response = Response::new(Either::Right(Full::new(Bytes::from(answer))));
    let kind = HeaderValue::from_static("application/x-git-receive-pack-result");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

/// Removes headers that are about one connection.
fn remove_hop_headers(headers: &mut HeaderMap) {
    for name in [header::CONNECTION, header::TRANSFER_ENCODING, header::UPGRADE] {
        headers.remove(name);
    }
    headers.remove(header::SET_COOKIE);
}

fn refusal((status, reason): Refusal) -> Answer {
    let mut response = Response::new(Either::Right(Full::new(Bytes::from(format!("sandbox: {reason}\n")))));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

fn empty() -> Sent {
    Full::new(Bytes::new()).map_err(|never| match never {}).boxed_unsync()
}

/// A body of which the beginning has been read.
struct Prefixed {
    first: Option<Bytes>,
    rest: Incoming,
}

impl Body for Prefixed {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match self.first.take() {
            Some(first) => Poll::Ready(Some(Ok(Frame::data(first)))),
            None => Pin::new(&mut self.rest).poll_frame(cx),
        }
    }

    fn size_hint(&self) -> SizeHint {
        let first = self.first.as_ref().map_or(0, |first| u64::try_from(first.len()).unwrap_or(u64::MAX));
        self.rest
            .size_hint()
            .exact()
            .map_or_else(SizeHint::default, |rest| SizeHint::with_exact(first + rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_requests_of_git_have_a_purpose() {
        let of = |method: Method, path: &str, query| {
            Purpose::of(&method, path, query).map(|(purpose, key)| (purpose, key.to_owned()))
        };
        let key = || "/h/x".to_owned();
        let (get, post) = (Method::GET, Method::POST);
        let list = Some("service=git-upload-pack");
        assert_eq!(of(get.clone(), "/h/x/info/refs", list), Some((Purpose::List, key())));
        assert_eq!(of(post.clone(), "/h/x/git-receive-pack", None), Some((Purpose::Push, key())));
        for (method, path, query) in [
            (get.clone(), "/h/x/info/refs", None),
            (get.clone(), "/h/x/info/refs", Some("service=git-upload-pack&x")),
            (post.clone(), "/h/x/info/refs", list),
            (get.clone(), "/h/x/git-upload-pack", None),
            (post.clone(), "/h/x/git-upload-pack", Some("x")),
            (Method::DELETE, "/h/x/git-upload-pack", None),
            (get, "/h/x/HEAD", None),
            (post, "/h/x/info/lfs/locks", None),
        ] {
            assert_eq!(of(method, path, query), None, "{path}");
        }
    }
}
