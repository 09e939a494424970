//! Downloads the files of a release of this program.

use crate::{
    client::{ClientFactory, Network},
    guard,
    limits::{REDIRECTS, RELEASE},
    retry,
};
use reqwest::{Response, StatusCode, Url, header::LOCATION};
use tokio::time::{Instant, timeout_at};

/// The reason why a file was not downloaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReleaseError {
    /// The URL is unencrypted or none at all.
    #[error("{0} is not an https URL")]
    NotHttps(String),
    /// Nothing answers there, or the connection broke.
    #[error("{url} cannot be downloaded: {why}")]
    Unreachable {
        /// The URL.
        url: String,
        /// What happened.
        why: String,
    },
    /// The server refused.
    #[error("{url} answered HTTP {status}")]
    Status {
        /// The URL.
        url: String,
        /// The status code.
        status: u16,
    },
    /// The file is too large.
    #[error("{url} has more than {} MB", limit / 1024 / 1024)]
    TooLarge {
        /// The URL.
        url: String,
        /// The limit in bytes.
        limit: usize,
    },
}

/// Downloads a file of at most `limit` bytes, over HTTPS. A release host redirects to the servers
/// that have its files, so redirects are followed, but never to an unencrypted address. HTTP is
/// accepted for a URL that literally names this machine.
///
/// # Errors
///
/// Each variant of [`ReleaseError`].
pub async fn download_release_file(
    clients: &ClientFactory,
    url: &str,
    limit: usize,
) -> Result<Vec<u8>, ReleaseError> {
    let deadline = Instant::now() + RELEASE;
    let is_local = guard::is_literally_local(url);
    let network = if is_local { Network::Private } else { Network::Public };
    let mut next = parsed(url, is_local)?;
    for _ in 0..=REDIRECTS {
        let response = get(clients, &next, network, deadline).await?;
        if !response.status().is_redirection() {
            return read(response, &next, limit, deadline).await;
        }
        let target = response.headers().get(LOCATION).and_then(|target| target.to_str().ok());
        let target = target.and_then(|target| next.join(target).ok());
        let target = target.ok_or_else(|| unreachable(&next, "it redirects to no URL"))?;
        next = parsed(target.as_str(), is_local)?;
    }
    Err(unreachable(&next, "it redirects too often"))
}

fn parsed(url: &str, is_local: bool) -> Result<Url, ReleaseError> {
    let refused = || ReleaseError::NotHttps(agent::label(url, 200));
    let parsed = Url::parse(url).map_err(|_| refused())?;
    match parsed.scheme() {
        "https" => Ok(parsed),
        "http" if is_local && guard::is_literally_local(url) => Ok(parsed),
        _ => Err(refused()),
    }
}

pub(crate) async fn get(
    clients: &ClientFactory,
    url: &Url,
    network: Network,
    deadline: Instant,
) -> Result<Response, ReleaseError> {
    guard::check(url, network).map_err(|refused| unreachable(url, &refused.to_string()))?;
    let client = clients(url.as_str(), network).map_err(|why| unreachable(url, &why))?;
    match timeout_at(deadline, client.get(url.clone()).send()).await {
        Ok(Ok(response)) => Ok(response),
        Ok(Err(error)) => Err(unreachable(url, &error.without_url().to_string())),
        Err(_elapsed) => Err(unreachable(url, "it took too long")),
    }
}

pub(crate) async fn read(
    response: Response,
    url: &Url,
    limit: usize,
    deadline: Instant,
) -> Result<Vec<u8>, ReleaseError> {
    if response.status() != StatusCode::OK {
        return Err(ReleaseError::Status { url: shown(url), status: response.status().as_u16() });
    }
    match timeout_at(deadline, retry::bytes(response, limit)).await {
        Ok(Ok((bytes, true))) => Ok(bytes),
        Ok(Ok((_, false))) => Err(ReleaseError::TooLarge { url: shown(url), limit }),
        Ok(Err(why)) => Err(unreachable(url, &why)),
        Err(_elapsed) => Err(unreachable(url, "it took too long")),
    }
}

pub(crate) fn unreachable(url: &Url, why: &str) -> ReleaseError {
    ReleaseError::Unreachable { url: shown(url), why: agent::one_line(why) }
}

/// The URL without its query, in which redirects carry signatures.
fn shown(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    agent::label(url.as_str(), 200)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_https_is_downloaded_but_for_this_machine() {
        let local = "http://127.0.0.1:8080/x";
        for (url, is_local, accepted) in [
            ("https://example.org/x", false, true),
            ("http://example.org/x", false, false),
            ("file:///etc/passwd", false, false),
            ("nothing", false, false),
            (local, true, true),
            // A redirect from elsewhere must not reach this machine, nor leave it unencrypted.
            (local, false, false),
            ("http://example.org/x", true, false),
        ] {
            assert_eq!(parsed(url, is_local).is_ok(), accepted, "{url} {is_local}");
        }
    }

    #[test]
    fn errors_do_not_show_signatures() {
        let url = Url::parse("https://files.example/a?signature=secret").unwrap();
        assert_eq!(unreachable(&url, "x").to_string(), "https://files.example/a cannot be downloaded: x");
    }
}
