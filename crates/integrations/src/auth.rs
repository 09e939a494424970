//! How a service knows who calls, and what an account must have for that.

/// One way to say who calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scheme {
    /// A key in a header, after these words if there are any.
    KeyInHeader {
        /// The account's field.
        field: String,
        /// The header.
        header: String,
        /// What comes before the key: `Bearer `, or nothing.
        before: String,
    },
    /// A key in the query.
    KeyInQuery {
        /// The account's field.
        field: String,
        /// The parameter.
        parameter: String,
    },
    /// A key in a cookie.
    KeyInCookie {
        /// The account's field.
        field: String,
        /// The cookie.
        cookie: String,
    },
    /// A name and a password.
    Basic {
        /// The account's field with the name.
        username: String,
        /// The account's field with the password.
        password: String,
    },
    /// A token that is had for an id and a secret (OAuth 2, client credentials).
    ClientCredentials {
        /// The account's field with the id.
        id: String,
        /// The account's field with the secret.
        secret: String,
        /// Where the token is had.
        token_url: String,
        /// What it is asked for, separated by spaces.
        scopes: String,
    },
    /// One that is not spoken here; its kind.
    Unsupported(String),
}

/// A field of an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// What belongs there.
    pub description: String,
    /// Whether it is shown nowhere.
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
    /// What an account must have for it.
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

    /// Whether it is spoken here.
    pub fn is_supported(&self) -> bool {
        !matches!(self, Self::Unsupported(_))
    }

    /// Its word.
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
