//! Downloads a newer catalogue, and reads the stored one.

use super::{ModelTable, file};
use crate::{
    http::{Http, root_cause, shown},
    limits::{MAX_CATALOGUE_BYTES, REFRESH_TIMEOUT},
    stored_file::{self, ReadError},
};
use reqwest::Url;
use std::sync::Arc;
use system::{AbsPath, System, SystemError};

/// Why a catalogue could not be refreshed. The previous one is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum RefreshError {
    /// The address is invalid, or the download failed.
    #[error("cannot get the catalogue from {from}: {why}; download it elsewhere and give `--from FILE`")]
    Download {
        /// The address, without credentials.
        from: String,
        /// What went wrong.
        why: String,
    },
    /// The data is not a catalogue.
    #[error("{from} {why}; the catalogue is unchanged")]
    InvalidData {
        /// The address or the path.
        from: String,
        /// The problem, as the rest of a sentence.
        why: String,
    },
    /// No directory for it is configured.
    #[error("there is no directory to store the catalogue in")]
    NoTarget,
    /// A file could not be read or written.
    #[error(transparent)]
    File(#[from] SystemError),
}

/// Fetches a catalogue from an address or a file, reduces it, and writes it to `target` atomically.
/// `today` becomes its date, unless it has one of its own.
///
/// # Errors
///
/// Fails if it cannot be fetched, is not a catalogue, or cannot be written. Nothing is written
/// then.
pub(crate) async fn refresh(
    from: &str,
    today: &str,
    target: &AbsPath,
    base: &AbsPath,
    http: &Http,
    system: &dyn System,
) -> Result<ModelTable, RefreshError> {
    let (bytes, source) = match Url::parse(from) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => (get(&url, http).await?, shown(&url)),
        _ => {
            let path = base.join(from);
            (read_bounded(&path, system).await?, path.as_str().to_owned())
        }
    };
    let wrong = |why| RefreshError::InvalidData { from: source.clone(), why };
    let catalogue = file::reduce(&bytes, today, &source).map_err(wrong)?;
    let rendered = file::render(&catalogue);
    // Verify that the file can be read again.
    file::parse(&rendered).map_err(wrong)?;
    stored_file::write(target, &rendered, system).await?;
    Ok(ModelTable(catalogue))
}

/// Reads the stored catalogue; `None` if there is none. The error states what is wrong with the
/// file, for display.
pub(crate) async fn read(path: &AbsPath, system: &dyn System) -> Result<Option<Arc<ModelTable>>, String> {
    let problem = |why: String| {
        format!(
            "{path} {why}; the built-in catalogue is used: run `tiller models refresh`, or remove the file"
        )
    };
    match read_bounded(path, system).await {
        Ok(bytes) => file::parse(&bytes).map(|file| Some(Arc::new(ModelTable(file)))).map_err(problem),
        Err(RefreshError::File(SystemError::NotFound(_))) => Ok(None),
        Err(error) => Err(problem(format!("cannot be read ({error})"))),
    }
}

async fn read_bounded(path: &AbsPath, system: &dyn System) -> Result<Vec<u8>, RefreshError> {
    stored_file::read(path, MAX_CATALOGUE_BYTES, system).await.map_err(|error| match error {
        ReadError::System(error) => RefreshError::File(error),
        too_large @ ReadError::TooLarge(_) => {
            RefreshError::InvalidData { from: path.as_str().to_owned(), why: too_large.to_string() }
        }
    })
}

async fn get(url: &Url, http: &Http) -> Result<Vec<u8>, RefreshError> {
    let failed = |why: String| RefreshError::Download { from: shown(url), why };
    let client = http.client(url).map_err(|error| failed(error.to_string()))?;
    let reading = async {
        let request_failed =
            |error: reqwest::Error| failed(root_cause(&error).unwrap_or_else(|| error.to_string()));
        let mut response = client.get(url.clone()).send().await.map_err(request_failed)?;
        if !response.status().is_success() {
            return Err(failed(format!("it answered {}", response.status())));
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(request_failed)? {
            body.extend_from_slice(&chunk);
            if body.len() > MAX_CATALOGUE_BYTES {
                return Err(failed(format!("its response {}", ReadError::TooLarge(MAX_CATALOGUE_BYTES))));
            }
        }
        Ok(body)
    };
    let seconds = REFRESH_TIMEOUT.as_secs();
    let late = |_| failed(format!("it took longer than {seconds} s"));
    tokio::time::timeout(REFRESH_TIMEOUT, reading).await.map_err(late)?
}
