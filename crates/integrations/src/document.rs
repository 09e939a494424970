//! Gets a document of a server that the settings name, such as the keys of an identity provider.

use crate::{
    client::{ClientFactory, Network},
    guard::{self, RefusedAddress},
    limits::SMALL_DOCUMENT,
    release::{self, ReleaseError},
};
use reqwest::Url;
use tokio::time::Instant;

/// Gets a document of at most `limit` bytes. No redirect is followed, and only addresses of this
/// network are reached, whatever the name resolves to.
///
/// # Errors
/// Each variant of [`ReleaseError`]; an answer other than 200 is one.
pub async fn get_document(
    clients: &ClientFactory,
    url: &str,
    network: Network,
    limit: usize,
) -> Result<Vec<u8>, ReleaseError> {
    let deadline = Instant::now() + SMALL_DOCUMENT;
    let url = Url::parse(url).map_err(|_| ReleaseError::NotHttps(agent::label(url, 200)))?;
    if let Err(RefusedAddress::Private { host, address, .. }) = guard::check(&url, network) {
        let why = format!("the host {host} has the address {address}, which is not on the public internet");
        return Err(release::unreachable(&url, &why));
    }
    let response = release::get(clients, &url, network, deadline).await?;
    release::read(response, &url, limit, deadline).await
}
