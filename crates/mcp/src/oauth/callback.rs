//! The redirect target of the browser: a local port that is open during the sign-in and accepts one
//! answer.

use crate::limits::{OAUTH_CALLBACK, OAUTH_CALLBACK_BYTES};
use reqwest::Url;
use std::{collections::HashMap, time::Duration};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

/// The open port.
pub(super) struct Callback {
    listener: TcpListener,
    /// The redirect URI.
    pub(super) uri: String,
}

impl Callback {
    /// Opens a free port on the loopback interface.
    #[expect(clippy::disallowed_methods, reason = "a browser of this machine calls back at this port")]
    pub(super) async fn open() -> Result<Self, String> {
        let failed = |error| format!("cannot open a local port for the browser's redirect: {error}");
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(failed)?;
        let uri = format!("http://{}/callback", listener.local_addr().map_err(failed)?);
        Ok(Self { listener, uri })
    }

    /// Waits for the redirect with this state and returns its code. Other requests are refused.
    pub(super) async fn code(self, state: &str, issuer: &str) -> Result<String, String> {
        loop {
            let (mut stream, _) = self
                .listener
                .accept()
                .await
                .map_err(|error| format!("the browser's redirect could not be received: {error}"))?;
            // A silent connection must not delay the others for long.
            let Ok(Some(path)) = tokio::time::timeout(OAUTH_CALLBACK, path_of(&mut stream)).await else {
                continue;
            };
            let answer = answer(&path, state, issuer);
            let (status, text) = match &answer {
                None => ("404 Not Found", "Nothing is here."),
                Some(Ok(_)) => ("200 OK", "You are signed in. This window can be closed."),
                Some(Err(_)) => ("400 Bad Request", "The sign-in failed. The terminal shows why."),
            };
            let page = format!(
                "HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {}\r\ncache-control: no-store\r\n\
                 referrer-policy: no-referrer\r\nconnection: close\r\n\r\n{text}",
                text.len()
            );
            // The browser may have disconnected; its answer counts nevertheless.
            let _ = tokio::time::timeout(Duration::from_secs(1), stream.write_all(page.as_bytes())).await;
            if let Some(answer) = answer {
                return answer;
            }
        }
    }
}

/// Reads the path and query of a GET request.
async fn path_of(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let mut buffer = [0; 1024];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let read = stream.read(&mut buffer).await.ok()?;
        if read == 0 || head.len() + read > OAUTH_CALLBACK_BYTES {
            return None;
        }
        head.extend_from_slice(&buffer[..read]);
    }
    let head = String::from_utf8(head).ok()?;
    let mut words = head.lines().next()?.split(' ');
    (words.next() == Some("GET")).then(|| words.next().map(str::to_owned)).flatten()
}

/// Returns the code, or the error that the authority sent; `None` if this is not the expected
/// redirect.
fn answer(path: &str, state: &str, issuer: &str) -> Option<Result<String, String>> {
    let url = Url::parse("http://localhost").ok()?.join(path).ok()?;
    if url.path() != "/callback" {
        return None;
    }
    let fields: HashMap<_, _> = url.query_pairs().into_owned().collect();
    // Without the state, the request did not originate from our sign-in.
    if fields.get("state").map(String::as_str) != Some(state) {
        return None;
    }
    let foreign = |named: &&String| named.trim_end_matches('/') != issuer.trim_end_matches('/');
    if let Some(named) = fields.get("iss").filter(foreign) {
        return Some(Err(format!("the redirect comes from another issuer, {}", agent::one_line(named))));
    }
    if let Some(error) = fields.get("error") {
        let about = fields.get("error_description").map(|text| format!(", {text}")).unwrap_or_default();
        return Some(Err(agent::one_line(&format!("it was refused: {error}{about}"))));
    }
    Some(fields.get("code").cloned().ok_or_else(|| "the redirect contains no code".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s30_only_the_expected_redirect_is_accepted() {
        let taken = |path: &str| answer(path, "s", "https://a/");
        assert_eq!(taken("/callback?code=c&state=s"), Some(Ok("c".to_owned())));
        assert_eq!(taken("/callback?code=c&state=s&iss=https://a"), Some(Ok("c".to_owned())));
        for path in [
            "/callback?code=c",
            "/callback?code=c&state=x",
            "/?code=c&state=s",
            "/favicon.ico",
            "//x/callback?state=x",
        ] {
            assert_eq!(taken(path), None, "{path}");
        }
        for path in
            ["/callback?state=s", "/callback?error=denied&state=s", "/callback?code=c&state=s&iss=https://b"]
        {
            assert!(taken(path).unwrap().is_err(), "{path}");
        }
    }
}
