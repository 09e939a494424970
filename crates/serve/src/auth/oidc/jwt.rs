//! The form of a signed token (JWS compact serialisation, RFC 7515).

use super::{claims::Claims, jwk::Key};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use serde::Deserialize;

/// A token whose signature was not checked yet.
pub(super) struct SignedToken<'a> {
    text: &'a str,
    /// The header and the claims with the dot between them: what is signed.
    signed: &'a str,
    claims: &'a str,
    header: Header,
    signature: Vec<u8>,
}

/// What is read of a header. A field that occurs twice is an error.
#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    typ: Option<String>,
    crit: Option<serde::de::IgnoredAny>,
}

/// The types of tokens that are accepted: identity tokens, and access tokens (RFC 9068).
const TYPES: [&str; 3] = ["JWT", "at+jwt", "application/at+jwt"];

impl<'a> SignedToken<'a> {
    /// Reads a token. Errors repeat nothing of it.
    pub(super) fn parse(text: &'a str) -> Result<Self, &'static str> {
        let (signed, signature) = text.rsplit_once('.').ok_or("it is no JWT")?;
        let (header, claims) = signed.split_once('.').ok_or("it is no JWT")?;
        if claims.contains('.') {
            return Err("it is no signed JWT");
        }
        let header: Header =
            serde_json::from_slice(&decoded(header)?).map_err(|_| "its header cannot be read")?;
        if header.crit.is_some() {
            return Err("its header demands extensions that are not known here");
        }
        if header.typ.as_ref().is_some_and(|typ| !TYPES.iter().any(|known| known.eq_ignore_ascii_case(typ))) {
            return Err("its type is another one");
        }
        Ok(Self { text, signed, claims, header, signature: decoded(signature)? })
    }

    /// Returns the whole token, which is secret.
    pub(super) fn text(&self) -> &str {
        self.text
    }

    /// Returns the id of the key that it names.
    pub(super) fn key_id(&self) -> Option<&str> {
        self.header.kid.as_deref()
    }

    /// Checks the signature with the algorithm of the key. What the token says about its algorithm
    /// must be the same.
    pub(super) fn verify(&self, key: &Key) -> Result<(), &'static str> {
        if self.header.alg != key.algorithm() {
            return Err("its algorithm is not that of the key");
        }
        match key.is_signature(self.signed.as_bytes(), &self.signature) {
            true => Ok(()),
            false => Err("its signature is wrong"),
        }
    }

    /// Reads the claims. Call [`SignedToken::verify`] first.
    pub(super) fn claims(&self) -> Result<Claims, &'static str> {
        Claims::parse(&decoded(self.claims)?).ok_or("its claims cannot be read")
    }
}

fn decoded(text: &str) -> Result<Vec<u8>, &'static str> {
    BASE64_URL_SAFE_NO_PAD.decode(text).map_err(|_| "it is not base64url")
}
