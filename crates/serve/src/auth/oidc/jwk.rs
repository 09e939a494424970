//! The keys that an issuer publishes (JWK, RFC 7517).

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey};
use serde::Deserialize;

/// The fewest and the most bytes of the modulus of an RSA key.
const RSA_BYTES: std::ops::RangeInclusive<usize> = 256..=1024;

/// A key of an issuer with the one algorithm that it is used with.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Key {
    id: Option<String>,
    public: Public,
}

#[derive(Debug, PartialEq, Eq)]
enum Public {
    /// RS256: RSASSA-PKCS1-v1_5 with SHA-256.
    Rsa { modulus: Vec<u8>, exponent: Vec<u8> },
    /// ES256: ECDSA on P-256 with SHA-256; the uncompressed point.
    P256(Vec<u8>),
    /// EdDSA: Ed25519.
    Ed25519(Vec<u8>),
}

/// What is read of a published key.
#[derive(Deserialize)]
pub(super) struct Published {
    kty: String,
    kid: Option<String>,
    #[serde(rename = "use")]
    purpose: Option<String>,
    key_ops: Option<Vec<String>>,
    alg: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl Key {
    /// Returns the key; `None` if it is not for signatures, or of a kind that is not accepted.
    pub(super) fn of(published: Published) -> Option<Self> {
        let for_signatures = published.purpose.as_deref().is_none_or(|purpose| purpose == "sig")
            && published.key_ops.is_none_or(|operations| operations.iter().any(|one| one == "verify"));
        let bytes = |text: Option<String>| BASE64_URL_SAFE_NO_PAD.decode(text?).ok();
        let public = match (published.kty.as_str(), published.crv.as_deref()) {
            ("RSA", None) => {
                let number = |text| {
                    let bytes = bytes(text)?;
                    let start = bytes.iter().position(|byte| *byte != 0)?;
                    Some(bytes[start..].to_vec())
                };
                let (modulus, exponent) = (number(published.n)?, number(published.e)?);
                RSA_BYTES.contains(&modulus.len()).then_some(Public::Rsa { modulus, exponent })?
            }
            ("EC", Some("P-256")) => {
                let (x, y) = (bytes(published.x)?, bytes(published.y)?);
                let point = [&[4], x.as_slice(), y.as_slice()].concat();
                (x.len() == 32 && y.len() == 32).then_some(Public::P256(point))?
            }
            ("OKP", Some("Ed25519")) => Public::Ed25519(bytes(published.x).filter(|key| key.len() == 32)?),
            _ => return None,
        };
        let key = Self { id: published.kid, public };
        // A key that is published for PS256, say, is not used with RS256.
        let same = published.alg.is_none_or(|alg| alg == key.algorithm());
        (for_signatures && same).then_some(key)
    }

    /// Returns the id.
    pub(super) fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// Returns the name of its algorithm in headers (RFC 7518 and RFC 8037).
    pub(super) fn algorithm(&self) -> &'static str {
        match self.public {
            Public::Rsa { .. } => "RS256",
            Public::P256(_) => "ES256",
            Public::Ed25519(_) => "EdDSA",
        }
    }

    /// Whether the bytes are a signature of the message by this key.
    pub(super) fn is_signature(&self, message: &[u8], bytes: &[u8]) -> bool {
        let checked = match &self.public {
            Public::Rsa { modulus, exponent } => RsaPublicKeyComponents { n: modulus, e: exponent }.verify(
                &signature::RSA_PKCS1_2048_8192_SHA256,
                message,
                bytes,
            ),
            Public::P256(point) => {
                UnparsedPublicKey::new(&signature::ECDSA_P256_SHA256_FIXED, point).verify(message, bytes)
            }
            Public::Ed25519(key) => UnparsedPublicKey::new(&signature::ED25519, key).verify(message, bytes),
        };
        checked.is_ok()
    }
}
