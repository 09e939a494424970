//! The server's certificate, which is read again when its files change.

use crate::limits::CERTIFICATE_INTERVAL;
use jiff::Timestamp;
use rustls::{
    CertificateError, ClientConfig, Error, RootCertStore, ServerConfig,
    client::{WebPkiServerVerifier, danger::ServerCertVerifier as _},
    crypto::ring::default_provider,
    server::{ClientHello, ResolvesServerCert, WebPkiClientVerifier},
    sign::CertifiedKey,
};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem::PemObject as _};
use std::{
    path::PathBuf,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
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

impl CertificateFiles {
    /// Reads the files, which must belong together. Returns since when and until when the
    /// certificate is valid.
    ///
    /// # Errors
    /// If a file cannot be read, or the key is that of another certificate.
    pub fn validity(&self) -> Result<(Timestamp, Timestamp), TlsError> {
        let pair = pair(self)?;
        let bad = |why: String| TlsError::new(&self.certificate, why);
        let certificate = pair.cert.first().ok_or_else(|| bad("it holds no certificate".to_owned()))?;
        let mut roots = RootCertStore::empty();
        roots.add(certificate.clone()).map_err(|error| bad(error.to_string()))?;
        let provider = Arc::new(default_provider());
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
            .build()
            .map_err(|error| bad(error.to_string()))?;
        let name = ServerName::try_from("localhost").map_err(|error| bad(error.to_string()))?;
        // The library tells the bounds of the period to those who ask for a time outside of it.
        let at = |seconds| {
            let time = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
            verifier.verify_server_cert(certificate, &[], &name, &[], time).err()
        };
        let read = |time: UnixTime| {
            let second = i64::try_from(time.as_secs()).ok()?;
            Timestamp::from_second(second).ok()
        };
        let begins = match at(0) {
            Some(Error::InvalidCertificate(CertificateError::NotValidYetContext { not_before, .. })) => {
                read(not_before)
            }
            _ => Some(Timestamp::UNIX_EPOCH),
        };
        let ends = match at(FAR_FUTURE) {
            Some(Error::InvalidCertificate(CertificateError::ExpiredContext { not_after, .. })) => {
                read(not_after)
            }
            Some(error) => return Err(bad(error.to_string())),
            None => Some(Timestamp::MAX),
        };
        begins.zip(ends).ok_or_else(|| bad("its period of validity is out of range".to_owned()))
    }
}

/// A time after the end of every certificate: the last second of the year 9999, which stands for no
/// end (RFC 5280), and one more.
const FAR_FUTURE: u64 = 253_402_300_800;

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

    /// The certificate of a node without the authority of the others.
    pub(crate) fn no_authority(certificate: &std::path::Path) -> Self {
        Self::new(certificate, "the authority that signs the certificates of all nodes is missing")
    }
}

/// Returns how a node connects to another one: with its own certificate, and only to a node whose
/// certificate is of the same authority and names its address. The files are read anew.
pub(crate) fn node_client(files: &CertificateFiles) -> Result<Arc<ClientConfig>, TlsError> {
    let authorities =
        files.client_authorities.as_ref().ok_or_else(|| TlsError::no_authority(&files.certificate))?;
    let key = PrivateKeyDer::from_pem_file(&files.key).map_err(|error| TlsError::new(&files.key, error))?;
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| TlsError::new(&files.certificate, error))?
        .with_root_certificates(roots(authorities)?)
        .with_client_auth_cert(certificates(&files.certificate)?, key)
        .map_err(|error| TlsError::new(&files.certificate, error))?;
    Ok(Arc::new(config))
}

/// Reads the authorities in a file.
fn roots(path: &PathBuf) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        roots.add(certificate).map_err(|error| TlsError::new(path, error))?;
    }
    Ok(roots)
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
                let roots = Arc::new(roots(path)?);
                let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider).build();
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

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test writes files of certificates itself")]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};
    use std::fs;

    #[test]
    fn the_period_of_a_certificate_is_read_and_a_foreign_key_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let (own, foreign) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
        let mut params = CertificateParams::new(vec!["agents.example".to_owned()]).unwrap();
        params.not_before = date_time_ymd(2020, 1, 2);
        params.not_after = date_time_ymd(2021, 3, 4);
        let certificate = params.self_signed(&own).unwrap();
        let file = |name: &str, text: String| {
            let path = directory.path().join(name);
            fs::write(&path, text).unwrap();
            path
        };
        let files = |key: String| CertificateFiles {
            certificate: file("cert.pem", certificate.pem()),
            key: file("key.pem", key),
            client_authorities: None,
        };
        // It expired long ago, which is for the caller to judge.
        let (begins, ends) = files(own.serialize_pem()).validity().unwrap();
        assert_eq!(begins.to_string(), "2020-01-02T00:00:00Z");
        assert_eq!(ends.to_string(), "2021-03-04T00:00:00Z");
        let error = files(foreign.serialize_pem()).validity().unwrap_err().to_string();
        assert!(error.contains("key.pem"), "{error}");
        let error = files("x".to_owned()).validity().unwrap_err().to_string();
        assert!(error.contains("key.pem"), "{error}");
        params = CertificateParams::new(vec!["agents.example".to_owned()]).unwrap();
        let endless = params.self_signed(&own).unwrap();
        let certificate = file("endless.pem", endless.pem());
        let key = file("key.pem", own.serialize_pem());
        let files = CertificateFiles { certificate, key, client_authorities: None };
        assert!(files.validity().unwrap().1 > "4000-01-01T00:00:00Z".parse().unwrap());
    }
}
