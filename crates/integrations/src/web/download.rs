//! Downloads a page: with the address guard, within its server, up to a size.

use super::address::WebUrl;
use crate::{
    client::{ClientFactory, Network},
    guard::{self, RefusedAddress},
    limits::{PAGE, PAGE_BYTES, REDIRECTS},
    retry::{self, Cause},
};
use reqwest::{
    Response, StatusCode,
    header::{ACCEPT, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, HeaderName, LOCATION},
};
use tokio::time::Instant;

/// The formats that are requested, the preferred ones first.
const ACCEPTED: &str = "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, text/plain;q=0.8, application/json;q=0.8, */*;q=0.1";

/// The reason why a page was not downloaded. The text is for models and people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum DownloadError {
    #[error(
        "{host} has the address {address}, which is not on the public internet. web_fetch reaches this machine and private networks only for \
         the hosts of the setting web.local_hosts"
    )]
    Local { host: String, address: std::net::IpAddr },
    #[error("{host} has the address {address}, which web_fetch never connects to")]
    Never { host: String, address: std::net::IpAddr },
    #[error("{host} could not be reached: {why}")]
    Unreachable { host: String, why: String },
    #[error("{host} did not send the page within {} s", PAGE.as_secs())]
    Timeout { host: String },
    #[error("{host} answered HTTP {status}{hint}")]
    Status { host: String, status: String, hint: String },
    #[error("{host} redirects more than {REDIRECTS} times")]
    Redirects { host: String },
    #[error("{host} redirects to something that is not a URL of the web: {target}")]
    Target { host: String, target: String },
    #[error("{host} sent the page compressed ({encoding}), although no compression was requested")]
    Encoding { host: String, encoding: String },
}

/// The outcome of a download.
#[derive(Debug)]
pub(super) enum Download {
    Page(Downloaded),
    /// The server redirects to another one, which was not contacted.
    Elsewhere {
        status: u16,
        from: WebUrl,
        to: WebUrl,
    },
}

/// A downloaded page.
#[derive(Debug)]
pub(super) struct Downloaded {
    /// Its URL, after redirects.
    pub(super) url: WebUrl,
    /// The `Content-Type` header.
    pub(super) content_type: String,
    pub(super) bytes: Vec<u8>,
    /// Whether the bytes are the whole page.
    pub(super) is_whole: bool,
    /// Whether the server permits keeping it.
    pub(super) may_be_kept: bool,
}

/// Downloads a page with GET, without cookies, credentials or a referrer. Follows redirects within
/// the server that the URL names.
pub(super) async fn download(
    clients: &ClientFactory,
    url: &WebUrl,
    network: Network,
) -> Result<Download, DownloadError> {
    let deadline = Instant::now() + PAGE;
    let mut url = url.clone();
    for _ in 0..=REDIRECTS {
        let response = request(clients, &url, network, deadline).await?;
        if !is_redirect(response.status()) {
            return Ok(Download::Page(read(response, url, deadline).await?));
        }
        let host = || url.host().to_owned();
        let target = header(&response, LOCATION).unwrap_or_default();
        let next = url.join(&target).map_err(|_| DownloadError::Target {
            host: host(),
            target: agent::one_line(&target).chars().take(200).collect(),
        })?;
        if !url.stays(&next) {
            return Ok(Download::Elsewhere { status: response.status().as_u16(), from: url, to: next });
        }
        url = next;
    }
    Err(DownloadError::Redirects { host: url.host().to_owned() })
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

async fn request(
    clients: &ClientFactory,
    url: &WebUrl,
    network: Network,
    deadline: Instant,
) -> Result<Response, DownloadError> {
    let host = || url.host().to_owned();
    guard::check(url.url(), network).map_err(|refused| refusal(refused, host()))?;
    let client =
        clients(url.as_str(), network).map_err(|why| DownloadError::Unreachable { host: host(), why })?;
    let sent = client.get(url.url().clone()).header(ACCEPT, ACCEPTED).send();
    match tokio::time::timeout_at(deadline, sent).await {
        Ok(Ok(response)) => Ok(response),
        Ok(Err(error)) => Err(match retry::cause(&error) {
            Cause::Refused(refused) => refusal(refused, host()),
            Cause::Timeout => DownloadError::Timeout { host: host() },
            Cause::Failed(why) => DownloadError::Unreachable { host: host(), why: agent::one_line(&why) },
        }),
        Err(_elapsed) => Err(DownloadError::Timeout { host: host() }),
    }
}

fn refusal(refused: RefusedAddress, host: String) -> DownloadError {
    match refused {
        RefusedAddress::Private { host, address, .. } if guard::is_allowed(address, Network::Private) => {
            DownloadError::Local { host, address }
        }
        RefusedAddress::Private { host, address, .. } => DownloadError::Never { host, address },
        other => DownloadError::Unreachable { host, why: other.to_string() },
    }
}

async fn read(response: Response, url: WebUrl, deadline: Instant) -> Result<Downloaded, DownloadError> {
    let host = || url.host().to_owned();
    let status = response.status();
    if !status.is_success() {
        let status_text = format!("{} {}", status.as_u16(), status.canonical_reason().unwrap_or_default());
        return Err(DownloadError::Status {
            host: host(),
            status: status_text.trim_end().to_owned(),
            hint: hint(&response),
        });
    }
    // Nothing is decompressed, so a small response cannot become a large text.
    let encoding = header(&response, CONTENT_ENCODING).unwrap_or_default().to_ascii_lowercase();
    if !matches!(encoding.trim(), "" | "identity") {
        return Err(DownloadError::Encoding { host: host(), encoding: agent::label(&encoding, 40) });
    }
    let content_type = header(&response, CONTENT_TYPE).unwrap_or_default();
    let directives = header(&response, CACHE_CONTROL).unwrap_or_default().to_ascii_lowercase();
    let read = tokio::time::timeout_at(deadline, retry::bytes(response, PAGE_BYTES)).await;
    let read = read.map_err(|_elapsed| DownloadError::Timeout { host: host() })?;
    let (bytes, is_whole) =
        read.map_err(|why| DownloadError::Unreachable { host: host(), why: agent::one_line(&why) })?;
    Ok(Downloaded { url, content_type, bytes, is_whole, may_be_kept: !directives.contains("no-store") })
}

/// Returns what to do about a failure, where that is known.
fn hint(response: &Response) -> String {
    match (response.status(), retry::retry_after(response)) {
        (_, Some(delay)) => format!("; it asks to wait {} s", delay.as_secs()),
        (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, None) => {
            "; the page may need a login, which web_fetch does not have".to_owned()
        }
        (StatusCode::NOT_FOUND | StatusCode::GONE, None) => "; check the URL".to_owned(),
        _ => String::new(),
    }
}

fn header(response: &Response, name: HeaderName) -> Option<String> {
    let value = response.headers().get(name)?;
    Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
}
