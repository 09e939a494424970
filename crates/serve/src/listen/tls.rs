//! The server's certificate, which is read again when its files change.

use crate::limits::CERTIFICATE_INTERVAL;
use rustls::{
    ServerConfig,
    crypto::ring::default_provider,
    server::{ClientHello, ResolvesServerCert, WebPkiClientVerifier},
    sign::CertifiedKey,
};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _};
use std::{
    path::PathBuf,
    sync::{Arc, PoisonError, RwLock},
};
use tokio_rustls::TlsAcceptor;

/// The PEM files of a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateFiles {
    /// The certificate, followed by its intermediates.
    pub certificate: PathBuf,
    /// The private key.
    pub key: PathBuf,
    /// The authorities of client certificates, if clients must have one.
    pub client_authorities: Option<PathBuf>,
}

/// Why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the TLS file {file} cannot be used: {why}")]
pub struct TlsError {
    file: String,
    why: String,
}

impl TlsError {
    fn new(file: &std::path::Path, why: impl ToString) -> Self {
        Self { file: file.display().to_string(), why: why.to_string() }
    }
}

/// A certificate that follows its files.
#[derive(Debug)]
pub(crate) struct Certificates {
    files: CertificateFiles,
    config: Arc<ServerConfig>,
    current: Arc<Current>,
}

#[derive(Debug)]
struct Current(RwLock<Arc<CertifiedKey>>);

impl ResolvesServerCert for Current {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.read().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

impl Certificates {
    /// Reads the files.
    pub(crate) fn read(files: CertificateFiles) -> Result<Self, TlsError> {
        let current = Arc::new(Current(RwLock::new(Arc::new(pair(&files)?))));
        let provider = Arc::new(default_provider());
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|error| TlsError::new(&files.certificate, error))?;
        let builder = match &files.client_authorities {
            None => builder.with_no_client_auth(),
            Some(path) => {
                let mut roots = rustls::RootCertStore::empty();
                for certificate in certificates(path)? {
                    roots.add(certificate).map_err(|error| TlsError::new(path, error))?;
                }
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
                builder.with_client_cert_verifier(verifier.map_err(|error| TlsError::new(path, error))?)
            }
        };
        let mut config = builder.with_cert_resolver(current.clone());
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self { files, config: Arc::new(config), current })
    }

    /// Returns the acceptor for a new socket.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.config.clone())
    }

    /// Reads the files again. Files that cannot be used change nothing.
    pub(crate) fn reload(&self) {
        match pair(&self.files) {
            Ok(pair) => {
                *self.current.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(pair);
                tracing::info!(file = %self.files.certificate.display(), "the certificate was read again");
            }
            Err(error) => tracing::error!(%error, "the previous certificate stays in use"),
        }
    }

    /// Reads the files again whenever one of them has changed. Never completes.
    pub(crate) async fn follow(&self) {
        let mut known = self.changed();
        loop {
            tokio::time::sleep(CERTIFICATE_INTERVAL).await;
            let now = self.changed();
            if now != known {
                known = now;
                self.reload();
            }
        }
    }

    fn changed(&self) -> Vec<Option<String>> {
        let stat = |path: &PathBuf| rustix::fs::stat(path).ok();
        let files = [&self.files.certificate, &self.files.key].into_iter();
        files.map(|path| stat(path).map(|stat| format!("{}.{}", stat.st_mtime, stat.st_mtime_nsec))).collect()
    }
}

fn certificates(path: &PathBuf) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read = CertificateDer::pem_file_iter(path).map_err(|error| TlsError::new(path, error))?;
    let read: Result<Vec<_>, _> = read.collect();
    let certificates = read.map_err(|error| TlsError::new(path, error))?;
    match certificates.is_empty() {
        true => Err(TlsError::new(path, "it holds no certificate")),
        false => Ok(certificates),
    }
}

/// Reads the certificate and its key, which must belong together.
fn pair(files: &CertificateFiles) -> Result<CertifiedKey, TlsError> {
    let chain = certificates(&files.certificate)?;
    let key = PrivateKeyDer::from_pem_file(&files.key).map_err(|error| TlsError::new(&files.key, error))?;
    CertifiedKey::from_der(chain, key, &default_provider()).map_err(|error| TlsError::new(&files.key, error))
}
