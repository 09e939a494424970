//! Authentication schemes of services, and the account fields that they need.

/// An authentication scheme.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scheme {
    /// A key in a header, possibly after a prefix.
    KeyInHeader {
        /// The account's field.
        field: String,
        /// The header's name.
        header: String,
        /// The text before the key: `Bearer `, or empty.
        before: String,
    },
    /// A key in a query parameter.
    KeyInQuery {
        /// The account's field.
        field: String,
        /// The parameter's name.
        parameter: String,
    },
    /// A key in a cookie.
    KeyInCookie {
        /// The account's field.
        field: String,
        /// The cookie's name.
        cookie: String,
    },
    /// HTTP basic authentication.
    Basic {
        /// The account's field for the user name.
        username: String,
        /// The account's field for the password.
        password: String,
    },
    /// A token issued for an id and a secret (OAuth 2.0 client credentials).
    ClientCredentials {
        /// The account's field for the client id.
        id: String,
        /// The account's field for the client secret.
        secret: String,
        /// The URL of the token endpoint.
        token_url: String,
        /// The requested scopes, separated by spaces.
        scopes: String,
    },
    /// A scheme that is not supported, with its kind.
    Unsupported(String),
}

/// A field of an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// The field's name.
    pub name: String,
    /// The expected content.
    pub description: String,
    /// Whether the value is secret and must never be shown.
    pub secret: bool,
    /// Whether an account is incomplete without it.
    pub required: bool,
}

impl Field {
    fn secret(name: &str, description: &str) -> Self {
        let (name, description) = (name.to_owned(), description.to_owned());
        Self { name, description, secret: true, required: true }
    }

    fn open(name: &str, description: &str) -> Self {
        Self { secret: false, ..Self::secret(name, description) }
    }
}

impl Scheme {
    /// Returns the account fields that the scheme needs.
    pub fn fields(&self) -> Vec<Field> {
        match self {
            Self::KeyInHeader { field, before, .. } if before.starts_with("Bearer") => {
                vec![Field::secret(field, "The access token")]
            }
            Self::KeyInHeader { field, .. }
            | Self::KeyInQuery { field, .. }
            | Self::KeyInCookie { field, .. } => vec![Field::secret(field, "The API key")],
            Self::Basic { username, password } => {
                vec![Field::open(username, "The user's name"), Field::secret(password, "The password")]
            }
            Self::ClientCredentials { id, secret, .. } => {
                vec![Field::open(id, "The client's id"), Field::secret(secret, "The client's secret")]
            }
            Self::Unsupported(_) => Vec::new(),
        }
    }

    /// Returns whether the scheme is supported.
    pub fn is_supported(&self) -> bool {
        !matches!(self, Self::Unsupported(_))
    }

    /// Returns the scheme's identifier.
    pub fn id(&self) -> &'static str {
        match self {
            Self::KeyInHeader { before, .. } if before.starts_with("Bearer") => "bearer",
            Self::KeyInHeader { .. } | Self::KeyInQuery { .. } | Self::KeyInCookie { .. } => "api_key",
            Self::Basic { .. } => "basic",
            Self::ClientCredentials { .. } => "oauth2_client_credentials",
            Self::Unsupported(_) => "unsupported",
        }
    }
}
