//! Why an exchange with an authorization server failed.

/// The reason why an authorization server gave no token. The text is for people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OAuthError {
    /// The authorization server rejected the request.
    #[error("{message}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// The server, its status and its reason.
        message: String,
    },
    /// Nothing was sent, or there is no usable response.
    #[error("{0}")]
    Failed(String),
}

impl OAuthError {
    /// Returns whether only a new sign-in can help. A timeout (408), a rate limit (429) and an
    /// error of the server itself are temporary.
    pub(crate) fn needs_sign_in(&self) -> bool {
        match self {
            Self::Refused { status, .. } => (400..500).contains(status) && !matches!(status, 408 | 429),
            Self::Failed(_) => false,
        }
    }
}

impl From<String> for OAuthError {
    fn from(text: String) -> Self {
        Self::Failed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_refusal_that_a_retry_cannot_change_needs_a_sign_in() {
        for (status, final_refusal) in
            [(400, true), (401, true), (403, true), (408, false), (429, false), (500, false), (503, false)]
        {
            let refused = OAuthError::Refused { status, message: String::new() };
            assert_eq!(refused.needs_sign_in(), final_refusal, "{status}");
        }
        assert!(!OAuthError::Failed("h refused (400)".to_owned()).needs_sign_in());
    }
}
