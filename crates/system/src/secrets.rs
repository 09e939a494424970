//! Recognises secrets in text and in environment variables.

/// The prefixes of keys of well-known services, with the minimum length of such a key.
const BEGINNINGS: [(&str, usize); 19] = [
    ("sk-", 20),
    ("sk_live_", 20),
    ("rk_live_", 20),
    ("ghp_", 30),
    ("gho_", 30),
    ("ghu_", 30),
    ("ghs_", 30),
    ("ghr_", 30),
    ("github_pat_", 40),
    ("glpat-", 20),
    ("xoxb-", 20),
    ("xoxp-", 20),
    ("xapp-", 20),
    ("AKIA", 20),
    ("ASIA", 20),
    ("AIza", 35),
    ("hf_", 30),
    ("npm_", 36),
    ("pypi-", 40),
];

/// The minimum number of characters of a value that is searched for as a secret.
const SECRET_CHARS: usize = 8;

/// The minimum number of characters for a value of lower-case letters only; a shorter one is taken
/// for a word.
const WORD_CHARS: usize = 16;

/// Words of placeholders. A value that consists of these alone is no secret: `sk-no-key-required`,
/// `your-api-key-here`.
const PLACEHOLDER_WORDS: [&str; 72] = [
    "a",
    "abc",
    "anthropic",
    "any",
    "anything",
    "api",
    "apikey",
    "baz",
    "bar",
    "change",
    "changeme",
    "cpp",
    "default",
    "demo",
    "dev",
    "development",
    "dummy",
    "empty",
    "enter",
    "example",
    "fake",
    "false",
    "foo",
    "here",
    "ignored",
    "insert",
    "is",
    "key",
    "keys",
    "llama",
    "llamacpp",
    "lm",
    "lmstudio",
    "local",
    "localhost",
    "me",
    "missing",
    "my",
    "needed",
    "no",
    "nokey",
    "none",
    "not",
    "nothing",
    "null",
    "ollama",
    "openai",
    "password",
    "placeholder",
    "put",
    "replace",
    "required",
    "sample",
    "secret",
    "set",
    "sk",
    "some",
    "studio",
    "test",
    "testing",
    "the",
    "this",
    "to",
    "todo",
    "token",
    "true",
    "undefined",
    "unset",
    "unused",
    "value",
    "vllm",
    "your",
];

/// Returns whether a value that is known to be secret should be searched for in texts and
/// variables. A short value, a plain word or a placeholder would match in places that contain no
/// secret: in `PATH`, or inside words.
pub fn is_secret_value(value: &str) -> bool {
    let value = value.trim();
    let plain = value.chars().count() < WORD_CHARS && value.chars().all(|c| c.is_ascii_lowercase());
    value.chars().count() >= SECRET_CHARS && !plain && !is_placeholder(value)
}

/// Returns whether a value consists of placeholder words and repeated characters only.
fn is_placeholder(value: &str) -> bool {
    let mut words = value.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.all(|word| {
        let word = word.to_lowercase();
        let mut chars = word.chars();
        let first = chars.next();
        PLACEHOLDER_WORDS.contains(&word.as_str()) || chars.all(|c| Some(c) == first)
    })
}

/// Returns whether a variable's name indicates a secret.
pub fn is_secret_name(name: &str) -> bool {
    const WORDS: [&str; 6] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"];
    let name = name.to_ascii_uppercase();
    WORDS.iter().any(|word| name.contains(word))
}

/// Finds the parts of a text that look like secrets: keys of well-known services, three-part tokens
/// (JWT), passwords in URLs, and private keys. Returns sorted, disjoint byte ranges.
pub fn secrets_in(text: &str) -> Vec<std::ops::Range<usize>> {
    let mut found = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        let inside = c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        match (inside, start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                let from =
                    [from, after_escape(text, from)].into_iter().find(|from| is_key(word(text, *from, at)));
                found.extend(from.map(|from| from..from + word(text, from, at).len()));
                start = None;
            }
            _ => {}
        }
    }
    found.extend(passwords(text));
    found.extend(private_keys(text));
    found.sort_by_key(|range| range.start);
    // Merge overlapping ranges.
    let mut parts: Vec<std::ops::Range<usize>> = Vec::with_capacity(found.len());
    for range in found {
        match parts.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => parts.push(range),
        }
    }
    parts
}

/// Returns a word without trailing full stops.
fn word(text: &str, from: usize, to: usize) -> &str {
    text[from..to].trim_end_matches('.')
}

/// Returns where a word begins if its first character belongs to an escape sequence, as in text
/// encoded as JSON: behind the `n` of `\n`, behind all of `\u000a`.
fn after_escape(text: &str, from: usize) -> usize {
    if !text[..from].ends_with('\\') {
        return from;
    }
    let rest = &text.as_bytes()[from..];
    match rest {
        [b'u', hex @ ..] if hex.len() >= 4 && hex[..4].iter().all(u8::is_ascii_hexdigit) => from + 5,
        [b'b' | b'f' | b'n' | b'r' | b't' | b'0', ..] => from + 1,
        _ => from,
    }
}

fn is_key(word: &str) -> bool {
    let begins = |(beginning, length): &(&str, usize)| {
        let rest = word.strip_prefix(beginning);
        word.len() >= *length && rest.is_some_and(|rest| rest.bytes().any(|byte| byte.is_ascii_digit()))
    };
    // A three-part token whose first part is a base64url-encoded JSON object (JWT).
    let parts: Vec<_> = word.split('.').collect();
    let token = word.starts_with("eyJ") && parts.len() == 3 && parts.iter().all(|part| part.len() >= 10);
    // A token of this program's server, which always has this length.
    let own = word.strip_prefix("tlr_").is_some_and(|rest| rest.len() == 43);
    token || own || BEGINNINGS.iter().any(begins)
}

/// Finds the text between the first `:` and the `@` in the authority of a URL.
fn passwords(text: &str) -> impl Iterator<Item = std::ops::Range<usize>> {
    text.match_indices("://").filter_map(|(at, mark)| {
        let from = at + mark.len();
        let rest = &text[from..];
        let end = rest
            .find(|c: char| c == '/' || c.is_whitespace() || matches!(c, '"' | '\'' | '`'))
            .unwrap_or(rest.len());
        let (user, _) = rest[..end].rsplit_once('@')?;
        let (name, password) = user.split_once(':')?;
        (!password.is_empty()).then(|| from + name.len() + 1..from + user.len())
    })
}

/// Finds the text between the first and the last line of a private key; up to the end of the text
/// if the last line is missing.
fn private_keys(text: &str) -> impl Iterator<Item = std::ops::Range<usize>> {
    text.match_indices("-----BEGIN ").filter_map(|(at, _)| {
        let head = text[at..].lines().next().unwrap_or_default();
        let body = at + head.find("PRIVATE KEY-----")? + "PRIVATE KEY-----".len();
        let end = text[body..].find("-----END ").map_or(text.len(), |end| body + end);
        Some(body..end)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s26_secrets_are_recognised_by_their_form() {
        let own = "tlr_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQ";
        let jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefghij";
        for (text, expected) in [
            ("key sk-0123456789abcdefghijkl.", vec!["sk-0123456789abcdefghijkl"]),
            ("'ghp_0123456789abcdefghijABCDEFGHIJ'", vec!["ghp_0123456789abcdefghijABCDEFGHIJ"]),
            ("AKIAIOSFODNN7EXAMPLE", vec!["AKIAIOSFODNN7EXAMPLE"]),
            (own, vec![own]),
            (&own[..46], vec![]),
            (jwt, vec![jwt]),
            ("postgres://me:pa:ss@host/db and http://x@y", vec!["pa:ss"]),
            ("-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----", vec!["\nMII\n"]),
            ("\\nsk-0123456789abcdefghijkl\\t", vec!["sk-0123456789abcdefghijkl"]),
            ("\\u000aAKIAIOSFODNN7EXAMPLE", vec!["AKIAIOSFODNN7EXAMPLE"]),
            ("\\npm_0123456789abcdefghijABCDEFGHIJ012345", vec!["npm_0123456789abcdefghijABCDEFGHIJ012345"]),
            ("sk-learn scikit sk-very-long-name-without-numbers", vec![]),
            ("https://example.com/a:b@c src/a.b.c 0123456789abcdef", vec![]),
        ] {
            let found: Vec<_> = secrets_in(text).into_iter().map(|range| &text[range]).collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn p14_placeholders_are_not_secrets() {
        for value in [
            "",
            "x",
            "local",
            "none",
            "test",
            "dummy",
            "ollama",
            "1234567",
            "placeholder",
            "something",
            "sk-no-key-required",
            "your-api-key-here",
            "YOUR_API_KEY",
            "<your key>",
            "sk-xxxxxxxxxxxxxxxx",
            "****************",
            "lm-studio",
            " not-needed ",
            "--------",
        ] {
            assert!(!is_secret_value(value), "{value}");
        }
        for value in [
            "sk-0123456789abcdefghijkl",
            "correct horse battery",
            "hunter22hunter",
            "Tr0ub4dor",
            "qwhgkdhgkwhgkdhgkhw",
            "my-secret-7f",
        ] {
            assert!(is_secret_value(value), "{value}");
        }
    }
}
