//! Which environment variables a command gets: those that it needs, and others whose values are
//! plain.

use crate::{is_secret_value, secrets_in};
use std::ffi::OsString;

/// Variables that programs need to be found and to work. They are always passed on. A secret value
/// that occurs in one of them is not treated as secret.
const ESSENTIAL: [&str; 10] =
    ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "OLDPWD", "LANG", "TERM", "TMPDIR"];

/// The parts of names, between underscores, that indicate a secret.
const SECRET_PARTS: [&str; 23] = [
    "KEY",
    "KEYS",
    "APIKEY",
    "TOKEN",
    "SECRET",
    "SECRETS",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "PASS",
    "PWD",
    "CREDENTIAL",
    "CREDENTIALS",
    "CREDS",
    "AUTH",
    "AUTHORIZATION",
    "BEARER",
    "COOKIE",
    "PRIVATE",
    "DSN",
    "PAT",
    "JWT",
    "SAS",
];

/// Number of characters from which letters and digits without a break are taken for a secret.
const RANDOM_CHARS: usize = 16;

/// Settings for withholding variables, in addition to those whose names or values look like
/// secrets or whose values are not plain.
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
    /// a secret and whose value is not a number or a switch, whose value contains a known secret,
    /// and whose value is not plain.
    pub(in crate::local) fn withheld(&self) -> Vec<OsString> {
        let kept = |name: &str| self.keep.iter().any(|kept| kept == name);
        let variables = std::env::vars_os().map(|(name, value)| {
            // A name that is not UTF-8 may still indicate a secret.
            let text = name.to_string_lossy().into_owned();
            (name, text, value.to_string_lossy().into_owned())
        });
        let variables: Vec<_> = variables.filter(|(_, name, _)| !kept(name)).collect();
        let named =
            variables.iter().filter(|(_, name, value)| is_secret(name, value)).map(|(.., value)| value);
        let mut secrets: Vec<&str> = named.chain(&self.values).map(|value| value.trim()).collect();
        secrets.retain(|value| is_secret_value(value));
        let withheld = variables.iter().filter(|(_, name, value)| {
            if ESSENTIAL.contains(&name.as_str()) {
                return false;
            }
            let known = secrets.iter().any(|secret| value.contains(secret));
            let extraordinary = self.ordinary_only && !is_ordinary_variable(name);
            extraordinary || is_secret(name, value) || known || !is_plain(value)
        });
        withheld.map(|(name, ..)| name.clone()).collect()
    }
}

/// Returns whether a name indicates a secret, and the value can be one.
fn is_secret(name: &str, value: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let is_named = !ESSENTIAL.contains(&name.as_str())
        && name.split(|c: char| !c.is_ascii_alphanumeric()).any(|part| SECRET_PARTS.contains(&part));
    is_named && !is_number_or_switch(value)
}

fn is_number_or_switch(value: &str) -> bool {
    let switches = ["", "true", "false", "yes", "no", "on", "off"];
    let value = value.trim();
    value.len() < RANDOM_CHARS
        && (value.parse::<f64>().is_ok() || switches.iter().any(|word| value.eq_ignore_ascii_case(word)))
}

/// Returns whether a value consists of words, numbers, paths and addresses without a user and a
/// query.
fn is_plain(value: &str) -> bool {
    if !secrets_in(value).is_empty() {
        return false;
    }
    let is_path = |part: &str| part.is_empty() || part.starts_with(['/', '~', '.']);
    if value.split(':').all(is_path) {
        return true;
    }
    if let Some((_, rest)) = value.split_once("://") {
        let host = rest.split('/').next().unwrap_or_default();
        if host.contains('@') || rest.contains('?') {
            return false;
        }
    }
    let is_hexadecimal = value.len() >= 32 && value.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
    let is_random = |word: &str| {
        let is = |test: fn(&char) -> bool| word.chars().any(|c| test(&c));
        word.len() >= RANDOM_CHARS && is(char::is_ascii_digit) && is(char::is_ascii_alphabetic)
    };
    // Base64 and its kin have these signs within words.
    let words = value.split(|c: char| !c.is_ascii_alphanumeric() && !"+_-".contains(c));
    let has_long_mix = words.clone().any(|word| is_random(word) && !is_version(word));
    !is_hexadecimal && !has_long_mix
}

/// Returns whether a word is a name with numbers, such as `x86_64-unknown-linux-gnu`: its parts
/// between dashes and underscores are short, or without digits.
fn is_version(word: &str) -> bool {
    let is_simple = |part: &str| part.len() < 8 || !part.bytes().any(|byte| byte.is_ascii_digit());
    word.split(['-', '_', '+']).all(is_simple)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_values_pass_and_secrets_do_not() {
        for (name, value) in [
            ("MONKEY", "banana"),
            ("KEYBOARD_LAYOUT", "de"),
            ("MAX_TOKENS", "4096"),
            ("CARGO_BUILD_TARGET", "x86_64-unknown-linux-gnu"),
            ("RUSTFLAGS", "-C target-cpu=native -C link-arg=-fuse-ld=lld"),
            ("NODE_OPTIONS", "--max-old-space-size=8192"),
            ("JAVA_HOME", "/usr/lib/jvm/java-17-openjdk-amd64"),
            ("NIX_PATH", "/nix/store/0c1dkqnhkp2ih8vhn3sdnh3wr6qn8qg4-x:/b"),
            ("API_URL", "http://localhost:3000/v1"),
            ("AWS_REGION", "eu-central-1"),
            ("USE_TOKEN", "true"),
            ("CI", ""),
        ] {
            assert!(!is_secret(name, value) && is_plain(value), "{name}");
        }
        for (name, value) in [
            ("GITHUB_TOKEN", "x"),
            ("DB_PASS", "word"),
            ("SESSION_COOKIE", "abc"),
            ("FOO", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY0"),
            ("FOO", "dGVzdDp0ZXN0MTIz"),
            ("FOO", "0a1b2c3d-0a1b-2c3d-4e5f-0a1b2c3d4e5f"),
            ("FOO", "0123456789abcdef0123456789abcdef01234567"),
            ("DATABASE_URL", "postgres://me:pass@h/db"),
            ("HOOK", "https://hooks.example/x?sig=abc"),
            ("PIN_KEY", "1234567890123456"),
        ] {
            assert!(is_secret(name, value) || !is_plain(value), "{name} {value}");
        }
    }
}
