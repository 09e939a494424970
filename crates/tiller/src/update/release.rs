//! The newest release: its sums with their signature, and the archive for this machine.

use crate::{
    answer::{Failure, Kind},
    installation::Receipt,
    limits::{ARCHIVE_BYTES, PROGRAM_BYTES, SUMS_BYTES},
};
use anyhow::{Context as _, Result, ensure};
use flate2::read::GzDecoder;
use integrations::{ClientFactory, ReleaseError, download_release_file};
use minisign_verify::{PublicKey, Signature};
use sha2::{Digest as _, Sha256};
use std::io::Read as _;

/// The list of all files of a release, and its signature.
const SUMS: &str = "SHA256SUMS";
const SIGNATURE: &str = "SHA256SUMS.minisig";

/// The newest release for this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Newest {
    pub(super) version: String,
    /// The archive and its SHA-256.
    archive: String,
    sum: String,
}

impl Newest {
    /// Whether it is newer than a version. What is not three numbers is never newer.
    pub(super) fn is_newer_than(&self, current: &str) -> bool {
        match (numbers(&self.version), numbers(current)) {
            (Some(new), Some(old)) => new > old,
            _ => false,
        }
    }
}

/// Downloads the sums, checks their signature and finds the archive for the receipt's target.
pub(super) async fn newest(clients: &ClientFactory, receipt: &Receipt) -> Result<Newest> {
    let key = receipt.key.as_deref().ok_or_else(|| {
        Failure::new(Kind::Config, "the receipt of the installer names no key to check a release with")
            .hint("install again: the installer of a newer version brings the key")
    })?;
    let sums = download(clients, receipt, SUMS, SUMS_BYTES).await?;
    let signature = download(clients, receipt, SIGNATURE, SUMS_BYTES).await?;
    check_signature(key, &sums, &signature)?;
    let sums = String::from_utf8(sums).context("the list of sums is not text")?;
    find(&sums, &receipt.target).ok_or_else(|| {
        let text = format!("the newest release has no archive for {}", receipt.target);
        Failure::new(Kind::NotFound, text).into()
    })
}

/// Downloads the archive and checks its sum.
pub(super) async fn archive(clients: &ClientFactory, receipt: &Receipt, newest: &Newest) -> Result<Vec<u8>> {
    let bytes = download(clients, receipt, &newest.archive, ARCHIVE_BYTES).await?;
    let found: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    if found != newest.sum {
        let text = format!("{} has the sum {found}, but {} was signed", newest.archive, newest.sum);
        return Err(Failure::new(Kind::Provider, text).hint("nothing was replaced").into());
    }
    Ok(bytes)
}

/// Returns the program in an archive. Blocks while it unpacks.
pub(super) fn program_in(archive: &[u8], version: &str, target: &str) -> Result<Vec<u8>> {
    let wanted = format!("tiller-{version}-{target}/tiller");
    let mut archive = tar::Archive::new(GzDecoder::new(archive));
    for entry in archive.entries()? {
        let entry = entry?;
        if entry.path()?.to_str() == Some(wanted.as_str()) && entry.header().entry_type().is_file() {
            let mut bytes = Vec::new();
            entry.take(PROGRAM_BYTES + 1).read_to_end(&mut bytes)?;
            ensure!(bytes.len() as u64 <= PROGRAM_BYTES, "the program in the archive is too large");
            return Ok(bytes);
        }
    }
    anyhow::bail!("the archive has no file {wanted}")
}

async fn download(clients: &ClientFactory, receipt: &Receipt, file: &str, limit: usize) -> Result<Vec<u8>> {
    let url = format!("{}/{file}", receipt.source.trim_end_matches('/'));
    download_release_file(clients, &url, limit).await.map_err(|error| {
        let kind = match error {
            ReleaseError::NotHttps(_) => Kind::Config,
            ReleaseError::Unreachable { .. } => Kind::Network,
            ReleaseError::Status { .. } | ReleaseError::TooLarge { .. } => Kind::Provider,
        };
        Failure::new(kind, error.to_string()).into()
    })
}

fn check_signature(key: &str, sums: &[u8], signature: &[u8]) -> Result<()> {
    let wrong = |what: &str| {
        Failure::new(Kind::Provider, format!("the release is not signed with the key of this installation: {what}"))
            .hint("nothing was replaced; if the key of releases has changed, install again from a source that you trust")
    };
    let key = PublicKey::from_base64(key)
        .map_err(|_| Failure::new(Kind::Config, "the key in the receipt is not a key of minisign"))?;
    let signature = std::str::from_utf8(signature).ok().and_then(|text| Signature::decode(text).ok());
    let signature = signature.ok_or_else(|| wrong("its signature is malformed"))?;
    key.verify(sums, &signature, false).map_err(|_| wrong("the signature does not match").into())
}

/// Returns the newest archive for a target in a list of sums.
fn find(sums: &str, target: &str) -> Option<Newest> {
    let archives = sums.lines().filter_map(|line| {
        let (sum, file) = line.split_once("  ")?;
        let version = file.strip_prefix("tiller-")?.strip_suffix(&format!("-{target}.tar.gz"))?;
        numbers(version)?;
        Some(Newest { version: version.to_owned(), archive: file.to_owned(), sum: sum.to_owned() })
    });
    archives.max_by_key(|newest| numbers(&newest.version))
}

/// The three numbers of a version.
fn numbers(version: &str) -> Option<[u64; 3]> {
    let mut parts = version.split('.').map(|part| part.parse().ok());
    let numbers = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_archive_of_this_target_is_found_among_all_files() {
        let sums = "aa  SHA256\nbb  tiller-0.9.0-t-musl.tar.gz\ncc  tiller-0.10.0-t-musl.tar.gz\n\
                    dd  tiller-0.11.0-t-gnu.tar.gz\nee  tiller-0.12.0-rc1-t-musl.tar.gz\nff  tiller-0.10.0-t-musl.cdx.json\n";
        let newest = find(sums, "t-musl").unwrap();
        assert_eq!((newest.version.as_str(), newest.sum.as_str()), ("0.10.0", "cc"));
        assert_eq!(find(sums, "other"), None);
    }

    #[test]
    fn only_a_greater_version_is_newer() {
        let newest =
            |version: &str| Newest { version: version.into(), archive: String::new(), sum: String::new() };
        for (new, old, expected) in [
            ("0.2.0", "0.1.9", true),
            ("0.10.0", "0.9.0", true),
            ("1.0.0", "1.0.0", false),
            ("0.9.9", "1.0.0", false),
            ("x", "0.1.0", false),
            ("1.0.0.1", "0.1.0", false),
        ] {
            assert_eq!(newest(new).is_newer_than(old), expected, "{new} {old}");
        }
    }
}
