//! Which environment variables are withheld from a command.

use crate::{is_secret_name, is_secret_value, secrets_in};
use std::ffi::OsString;

/// Variables that programs need to be found and to work. They are always passed on. A secret value
/// that occurs in one of them is not treated as secret.
const ESSENTIAL: [&str; 9] = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "LANG", "TERM", "TMPDIR"];

/// Settings for withholding variables, in addition to those whose names or values look like
/// secrets.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::local) struct HiddenVariables {
    /// Values that are secret, regardless of the variable's name.
    pub(in crate::local) values: Vec<String>,
    /// Names that are passed on although they or their values look like secrets.
    pub(in crate::local) keep: Vec<String>,
    /// Whether all others are withheld too, but for the ordinary ones.
    pub(in crate::local) ordinary_only: bool,
}

impl HiddenVariables {
    /// Returns the names of this process's variables that are withheld: those whose name indicates
    /// a secret, whose value contains a known secret, or whose value looks like a secret.
    pub(in crate::local) fn withheld(&self) -> Vec<OsString> {
        let kept = |name: &str| self.keep.iter().any(|kept| kept == name);
        let variables = std::env::vars_os().map(|(name, value)| {
            // A name that is not UTF-8 may still indicate a secret.
            let text = name.to_string_lossy().into_owned();
            (name, text, value.to_string_lossy().into_owned())
        });
        let variables: Vec<_> = variables.filter(|(_, name, _)| !kept(name)).collect();
        let named = variables.iter().filter(|(_, name, _)| is_secret_name(name)).map(|(.., value)| value);
        let mut secrets: Vec<&str> = named.chain(&self.values).map(|value| value.trim()).collect();
        secrets.retain(|value| is_secret_value(value));
        let withheld = variables.iter().filter(|(_, name, value)| {
            if ESSENTIAL.contains(&name.as_str()) {
                return false;
            }
            let known = secrets.iter().any(|secret| value.contains(secret));
            let extraordinary = self.ordinary_only && !is_ordinary_variable(name);
            extraordinary || is_secret_name(name) || known || !secrets_in(value).is_empty()
        });
        withheld.map(|(name, ..)| name.clone()).collect()
    }
}

/// Whether a variable is about the machine and not about the purpose of this process: paths,
/// language, time zone, proxies and certificates.
pub fn is_ordinary_variable(name: &str) -> bool {
    const ORDINARY: [&str; 9] = [
        "TZ",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "NO_PROXY",
        "ALL_PROXY",
        "COLORTERM",
        "NIX_SSL_CERT_FILE",
    ];
    let upper = name.to_ascii_uppercase();
    ESSENTIAL.contains(&name) || name.starts_with("LC_") || ORDINARY.contains(&upper.as_str())
}
