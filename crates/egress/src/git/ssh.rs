//! Repositories at addresses of SSH. A command speaks git's own protocol, and the user's `ssh`
//! talks to the host. The user's keys and their agent stay outside of the room.

use super::{Repository, Session, address::Address, programs, push, sign};
use crate::limits::{COPY_BYTES, HELLO_WAIT, IDLE_WAIT};
use crate::outbound::{Refused, idle};
use agent::{ConnectionJudge, Destination};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use system::Piped;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The first packet of a connection.
#[derive(Debug, PartialEq, Eq)]
struct Request<'a> {
    service: Service,
    path: &'a str,
    version: Option<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Service {
    Fetch,
    Push,
    /// The service of `git archive`, by which the room's programs ask for signatures.
    Sign,
}

impl Service {
    fn program(self) -> &'static str {
        match self {
            Self::Fetch => "git-upload-pack",
            Self::Push => "git-receive-pack",
            Self::Sign => "git-upload-archive",
        }
    }
}

/// Returns a refusal that git prints as an error of the host.
fn refused(reason: &str) -> Refused {
    Refused { reason: reason.to_owned(), answer: push::error(reason) }
}

impl<'a> Request<'a> {
    /// Reads a packet such as `git-upload-pack /x\0host=h\0\0version=2\0`.
    fn parse(packet: &'a [u8]) -> Option<Self> {
        let text = std::str::from_utf8(packet).ok()?;
        let mut parts = text.split('\0');
        let (service, path) = parts.next()?.split_once(' ')?;
        let service = [Service::Fetch, Service::Push, Service::Sign]
            .into_iter()
            .find(|known| known.program() == service)?;
        let version = parts.find_map(|part| part.strip_prefix("version=")?.parse().ok());
        Some(Self { service, path, version })
    }
}

/// Serves a connection of a command.
pub(crate) async fn serve(session: &Session<'_>, stream: &mut TcpStream, judge: &Arc<dyn ConnectionJudge>) {
    if let Err(Refused { answer, .. }) = served(session, stream, judge).await
        && stream.write_all(&answer).await.is_ok()
    {
        // A client reads no answer before it has sent everything, and then closes the connection.
        let mut nowhere = tokio::io::sink();
        timeout(IDLE_WAIT, pump(stream, &mut nowhere, |_| ())).await.ok();
    }
}

async fn served(
    session: &Session<'_>,
    stream: &mut TcpStream,
    judge: &Arc<dyn ConnectionJudge>,
) -> Result<(), Refused> {
    let mut first = Vec::new();
    let request = async {
        loop {
            if let Some(packet) = push::packet(&first)? {
                return Ok(packet.content.to_vec());
            }
            if !matches!(stream.read_buf(&mut first).await, Ok(1..)) {
                return Err("the connection ended early".to_owned());
            }
        }
    };
    let packet = timeout(HELLO_WAIT, request).await.unwrap_or_else(|_| Err("no request came".to_owned()));
    let packet = packet.map_err(|reason| refused(&reason))?;
    let sent = first.split_off(packet.len() + 4);
    let request = Request::parse(&packet).ok_or_else(|| refused("only fetches and pushes are served"))?;
    if request.service == Service::Sign {
        let signed = sign::serve(session, sent, stream, judge).await;
        let answer = signed.map_err(|reason| Refused { answer: sign::refusal(&reason), reason })?;
        // The program may have ended.
        stream.write_all(&answer).await.ok();
        return Ok(());
    }
    let repository = session.repositories.get(request.path).filter(|found| found.address.is_ssh());
    let repository = repository.ok_or_else(|| {
        let path = request.path;
        refused(&format!("{path} is no remote that the project had when the session began"))
    })?;
    relay(session, repository, &request, sent, stream, judge).await
}

async fn relay(
    session: &Session<'_>,
    repository: &Repository,
    request: &Request<'_>,
    sent: Vec<u8>,
    stream: &mut TcpStream,
    judge: &Arc<dyn ConnectionJudge>,
) -> Result<(), Refused> {
    let destination = repository.address.destination();
    let destination = destination.ok_or_else(|| refused("its host has no name that can be asked about"))?;
    // What a push sends is asked about by itself.
    let is_fetch = request.service == Service::Fetch;
    let served = async {
        judge.reach(&repository.named(), &destination, is_fetch).await.map_err(|reason| Refused {
            answer: push::error(&format!("{destination} was refused: {reason}")),
            reason,
        })?;
        talk(session, repository, request, sent, stream, judge, &destination).await
    };
    served.await.inspect_err(|refused| judge.refused(&destination, &refused.reason))
}

async fn talk(
    session: &Session<'_>,
    repository: &Repository,
    request: &Request<'_>,
    mut sent: Vec<u8>,
    stream: &mut TcpStream,
    judge: &Arc<dyn ConnectionJudge>,
    destination: &Destination,
) -> Result<(), Refused> {
    let Address::Ssh { path, .. } = &repository.address else { return Ok(()) };
    let command = format!("{} '{}'", request.service.program(), path.replace('\'', r"'\''"));
    let programs = &session.git.programs;
    let started =
        programs.ssh(&repository.address, &command, request.version, &session.repositories.roots).await;
    let Piped { input: mut to, output: mut from, mut process } =
        started.map_err(|error| refused(&format!("ssh does not start: {error}")))?;
    let traffic = judge.connected(destination);
    let count = AtomicU64::new(0);
    let (mut own, mut client) = stream.split();
    let answered = async {
        pump(&mut from, &mut client, |bytes| {
            traffic.received.fetch_add(bytes, Ordering::Relaxed);
            count.fetch_add(bytes, Ordering::Relaxed);
        })
        .await
    };
    let asked = async {
        if request.service == Service::Push {
            let mut head = push::Head::default();
            while !head.read(&sent).map_err(|reason| refused(&reason))? {
                match own.read_buf(&mut sent).await {
                    Ok(1..) => {}
                    // The command has ended.
                    _ => {
                        to.shutdown().await.ok();
                        return Ok(());
                    }
                }
            }
            if !head.changes.is_empty()
                && let Err(reason) = judge.push(&repository.push(head.changes)).await
            {
                return Err(Refused { answer: push::rejection(&sent, &reason), reason });
            }
        }
        let note = |bytes| {
            traffic.sent.fetch_add(bytes, Ordering::Relaxed);
            count.fetch_add(bytes, Ordering::Relaxed);
        };
        let passed = async {
            to.write_all(&sent).await?;
            note(u64::try_from(sent.len()).unwrap_or(u64::MAX));
            pump(&mut own, &mut to, note).await?;
            to.shutdown().await
        };
        // The host may have ended; then its answer has the reason.
        passed.await.ok();
        Ok(())
    };
    let mut asked = std::pin::pin!(asked);
    let mut answered = std::pin::pin!(answered);
    let mut is_asked = false;
    let ended = loop {
        tokio::select! {
            result = &mut answered => break result.map_err(|error| refused(&error.to_string())),
            result = &mut asked, if !is_asked => {
                is_asked = true;
                if let Err(refused) = result {
                    break Err(refused);
                }
            }
            () = idle(&count), if is_asked => break Ok(0),
        }
    };
    if ended.is_err() || !is_asked {
        process.kill().await;
    }
    match ended {
        Ok(0) => {
            let said = programs::messages(process.as_mut()).await;
            let said = if said.is_empty() { "no answer" } else { &said };
            Err(refused(&format!("ssh to {}: {said}", repository.address)))
        }
        Ok(_) => Ok(()),
        Err(refused) => Err(refused),
    }
}

/// Copies until the end; returns the number of bytes.
async fn pump(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    note: impl Fn(u64),
) -> io::Result<u64> {
    let (mut buffer, mut total) = (vec![0; COPY_BYTES], 0);
    loop {
        let length = from.read(&mut buffer).await?;
        if length == 0 {
            return Ok(total);
        }
        to.write_all(&buffer[..length]).await?;
        to.flush().await?;
        let bytes = u64::try_from(length).unwrap_or(u64::MAX);
        note(bytes);
        total += bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_names_a_service_and_a_path() {
        let fetch = b"git-upload-pack /me@h/x\0host=git.tiller:22\0\0version=2\0";
        let expected = Request { service: Service::Fetch, path: "/me@h/x", version: Some(2) };
        assert_eq!(Request::parse(fetch), Some(expected));
        let push = Request { service: Service::Push, path: "/h/x", version: None };
        assert_eq!(Request::parse(b"git-receive-pack /h/x\0host=h\0"), Some(push));
        for other in [&b"git-shell /x\0"[..], b"git-upload-pack", b"", b"\xff /x"] {
            assert_eq!(Request::parse(other), None);
        }
    }
}
