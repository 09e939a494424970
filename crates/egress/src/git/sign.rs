//! Signatures of commits and tags, which the user's own programs make outside of the room.

use super::{Session, push};
use agent::{ConnectionJudge, Signing};
use base64::{Engine, engine::general_purpose::STANDARD};
use std::sync::Arc;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

/// Maximum size of a request, in bytes.
const REQUEST_BYTES: usize = 2 << 20;

/// Reads a request and returns the answer: the words of `git archive` in packets, as
/// `room/signing.rs` of the crate `system` sends them.
///
/// # Errors
/// The reason why nothing is signed.
pub(super) async fn serve(
    session: &Session<'_>,
    mut sent: Vec<u8>,
    stream: &mut TcpStream,
    judge: &Arc<dyn ConnectionJudge>,
) -> Result<Vec<u8>, String> {
    let mut request = Request::default();
    while !request.read(&sent)? {
        if !matches!(stream.read_buf(&mut sent).await, Ok(1..)) || sent.len() > REQUEST_BYTES {
            return Err("the object is too large to be signed".to_owned());
        }
    }
    let Request { words, .. } = request;
    let signing = parse(&words).ok_or("only commits and tags are signed")?;
    judge.sign(&signing).await?;
    let signature = session.git.programs.signature(&signing, &session.repositories.roots).await?;
    Ok([&push::line(b"ACK\n")[..], push::FLUSH, &push::data(signature.as_bytes())].concat())
}

/// Returns the answer that git prints as an error.
pub(super) fn refusal(reason: &str) -> Vec<u8> {
    push::line(format!("NACK sandbox: {reason}\n").as_bytes())
}

/// A request, as it arrives.
#[derive(Default)]
struct Request {
    /// The words, without what separates them.
    words: Vec<u8>,
    packets: push::Packets,
}

impl Request {
    /// Reads on in all bytes so far; returns whether the request is complete.
    fn read(&mut self, bytes: &[u8]) -> Result<bool, String> {
        let Self { words, packets } = self;
        packets.read(bytes, |packet| {
            let word = packet.strip_prefix(b"argument ").ok_or("it is not a request for a signature")?;
            words.extend(word.trim_ascii_end());
            Ok(())
        })
    }
}

/// Reads a request; `None` if it is none for a commit or a tag.
fn parse(words: &[u8]) -> Option<Signing> {
    let text = String::from_utf8(STANDARD.decode(words).ok()?).ok()?;
    let mut lines = text.splitn(3, '\n');
    let (program, key, object) = (lines.next()?, lines.next()?, lines.next()?);
    let (head, message) = object.split_once("\n\n")?;
    let mut fields = head.lines();
    let first = fields.next()?.split_once(' ')?;
    let kind = match (first.0, fields.next()?.split_once(' ')?.0) {
        ("tree", "parent" | "author") if push::is_id(first.1) => "commit",
        ("object", "type") if push::is_id(first.1) => "tag",
        _ => return None,
    };
    let is_key = !key.is_empty() && !key.starts_with('-') && !key.chars().any(char::is_control);
    is_key.then(|| Signing {
        program: program.to_owned(),
        key: key.to_owned(),
        kind,
        subject: message.lines().next().unwrap_or_default().to_owned(),
        object: object.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "1111111111111111111111111111111111111111";

    fn request(text: &str) -> Option<Signing> {
        let words = STANDARD.encode(text);
        let (one, two) = words.split_at(words.len() / 2);
        let packets = [one, two].map(|word| push::line(format!("argument {word}\n").as_bytes())).concat();
        let mut request = Request::default();
        assert_eq!(request.read(&packets), Ok(false));
        assert_eq!(request.read(&[&packets, &push::FLUSH[..]].concat()), Ok(true));
        parse(&request.words)
    }

    #[test]
    fn only_commits_and_tags_are_signed() {
        let commit = format!("tree {ID}\nauthor A <a@b> 1 +0000\n\nSubject\n\nBody\n");
        let signing = request(&format!("gpg\nABC\n{commit}")).unwrap();
        assert_eq!(
            (signing.key.as_str(), signing.kind, signing.subject.as_str()),
            ("ABC", "commit", "Subject")
        );
        assert_eq!(signing.object, commit);
        let tag = format!("object {ID}\ntype commit\ntag v1\n\nv1\n");
        assert_eq!(request(&format!("ssh-keygen\n/k\n{tag}")).unwrap().kind, "tag");
        for other in [
            "gpg\nABC\nhello\n\nworld".to_owned(),
            format!("gpg\n-abc\n{commit}"),
            format!("gpg\n\n{commit}"),
            "gpg\nA\ntree x\nauthor A\n\nb".to_owned(),
            format!("gpg\nA\ntree {ID}"),
            "gpg".to_owned(),
        ] {
            assert_eq!(request(&other), None, "{other}");
        }
    }
}
