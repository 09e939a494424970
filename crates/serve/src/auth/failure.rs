//! Why a request is refused, and what is answered.

use super::BearerError;
use agent::Scope;
use serde::Serialize;
use std::time::Duration;

/// Why a request is refused before it does anything. Neither the credential nor the reason why a
/// credential is wrong is in its text: an unknown, a revoked and an expired token get the same
/// answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuthFailure {
    /// The request has no credential.
    #[error("the request has no credential")]
    Missing,
    /// The header has no credential that could be checked.
    #[error("the Authorization header is not used: {0}")]
    Malformed(#[from] BearerError),
    /// The credential is not valid.
    #[error("the credential is not valid")]
    Invalid,
    /// The source sent too many wrong credentials.
    #[error("too many wrong credentials from this address")]
    Throttled {
        /// When to try again.
        retry_after: Duration,
    },
    /// The credential is valid and does not permit this.
    #[error("the credential has no scope {scope}")]
    Forbidden {
        /// The missing scope.
        scope: Scope,
    },
    /// Credentials cannot be checked now, so none is accepted. The cause is in the log.
    #[error("credentials cannot be checked now")]
    Unavailable,
}

/// How long a client waits before it asks a server again that cannot check credentials.
const UNAVAILABLE_RETRY: Duration = Duration::from_secs(5);

/// The body of an answer of the type `application/problem+json` (RFC 9457).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// The type of the problem: always `about:blank`, `reason` is what programs read.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The HTTP status.
    pub status: u16,
    /// What happened.
    pub title: &'static str,
    /// What to do next.
    pub detail: String,
    /// The word by which programs tell problems apart.
    pub reason: &'static str,
    /// When to try again, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

impl AuthFailure {
    /// Returns the HTTP status of the answer.
    pub fn status(&self) -> u16 {
        match self {
            Self::Missing | Self::Malformed(_) | Self::Invalid => 401,
            Self::Forbidden { .. } => 403,
            Self::Throttled { .. } => 429,
            Self::Unavailable => 503,
        }
    }

    /// Returns the word of the answer and of metrics (`why`).
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Missing => "credential_missing",
            Self::Malformed(_) => "credential_malformed",
            Self::Invalid => "credential_invalid",
            Self::Throttled { .. } => "throttled",
            Self::Forbidden { .. } => "forbidden",
            Self::Unavailable => "unavailable",
        }
    }

    /// Returns the value of the `WWW-Authenticate` header, for 401 and 403 (RFC 6750, section 3).
    pub fn www_authenticate(&self) -> Option<String> {
        match self {
            Self::Missing => Some("Bearer".to_owned()),
            Self::Malformed(_) | Self::Invalid => Some("Bearer error=\"invalid_token\"".to_owned()),
            Self::Forbidden { scope } => {
                Some(format!("Bearer error=\"insufficient_scope\", scope=\"{scope}\""))
            }
            Self::Throttled { .. } | Self::Unavailable => None,
        }
    }

    /// Returns when to try again, for the `Retry-After` header, in whole seconds and at least one.
    pub fn retry_after(&self) -> Option<Duration> {
        let whole = |wait: Duration| Duration::from_secs(wait.as_millis().div_ceil(1000).max(1) as u64);
        match self {
            Self::Throttled { retry_after } => Some(whole(*retry_after)),
            Self::Unavailable => Some(UNAVAILABLE_RETRY),
            _ => None,
        }
    }

    /// Returns the body of the answer.
    pub fn problem(&self) -> Problem {
        let (title, detail) = match self {
            Self::Missing => (
                "A credential is needed",
                "send `Authorization: Bearer` with a token of this server; `tiller token create` makes one"
                    .to_owned(),
            ),
            Self::Malformed(error) => ("The credential cannot be read", error.to_string()),
            Self::Invalid => (
                "The credential is not valid",
                "it is unknown, expired or revoked; use another one".to_owned(),
            ),
            Self::Throttled { .. } => (
                "Too many wrong credentials",
                "wait for the time in Retry-After before the next request".to_owned(),
            ),
            Self::Forbidden { scope } => (
                "The credential does not permit this",
                format!("the scope {scope} is missing; use a credential that has it"),
            ),
            Self::Unavailable => {
                ("Credentials cannot be checked now", "try again; the server's log has the cause".to_owned())
            }
        };
        let retry_after_ms = self.retry_after().map(|wait| wait.as_millis() as u64);
        Problem {
            kind: "about:blank",
            status: self.status(),
            title,
            detail,
            reason: self.reason(),
            retry_after_ms,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_has_a_status_and_a_body_for_programs() {
        let late = AuthFailure::Throttled { retry_after: Duration::from_millis(4_200) };
        assert_eq!((late.status(), late.retry_after()), (429, Some(Duration::from_secs(5))));
        assert_eq!(
            serde_json::to_value(late.problem()).unwrap(),
            serde_json::json!({
                "type": "about:blank",
                "status": 429,
                "title": "Too many wrong credentials",
                "detail": "wait for the time in Retry-After before the next request",
                "reason": "throttled",
                "retryAfterMs": 5000,
            })
        );
        for (failure, status, header) in [
            (AuthFailure::Missing, 401, Some("Bearer")),
            (AuthFailure::Invalid, 401, Some("Bearer error=\"invalid_token\"")),
            (BearerError::OtherScheme.into(), 401, Some("Bearer error=\"invalid_token\"")),
            (
                AuthFailure::Forbidden { scope: Scope::Admin },
                403,
                Some("Bearer error=\"insufficient_scope\", scope=\"admin\""),
            ),
            (AuthFailure::Unavailable, 503, None),
        ] {
            assert_eq!(failure.problem().status, status);
            assert_eq!(failure.www_authenticate().as_deref(), header);
        }
    }
}
