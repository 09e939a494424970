//! Which addresses may be hyperlinks.

use crate::limits::MAX_HYPERLINK;
use std::fmt::Write as _;
use system::AbsPath;

/// Returns the address that a link of a text opens: of http and https one with a host, of files one
/// below `roots`. `None` for all others, whose address is only shown.
///
/// An address with a user name is none: the name could look like a host. Characters that are not
/// visible ASCII are not allowed in an address of the web, and are encoded in one of a file.
pub fn target(address: &str, roots: &[AbsPath]) -> Option<String> {
    let target = match address.split_once("://") {
        Some(("http" | "https", rest)) => {
            let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
            let has_host = authority.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '[');
            let is_plain = address.bytes().all(|byte| byte.is_ascii_graphic());
            (has_host && is_plain && !authority.contains('@')).then(|| address.to_owned())?
        }
        Some(("file", path)) if path.starts_with('/') => file(path, roots)?,
        Some(_) => return None,
        None if address.starts_with(['#', '?']) || is_scheme(address) => return None,
        None => file(address, roots)?,
    };
    (target.len() <= MAX_HYPERLINK).then_some(target)
}

/// Whether an address begins with a scheme, as `mailto:` does. `page.rs:12` does not.
fn is_scheme(address: &str) -> bool {
    let Some((scheme, rest)) = address.split_once(':') else { return false };
    let is_line = rest.starts_with(|c: char| c.is_ascii_digit());
    !is_line && !scheme.contains(['/', '.'])
}

/// Returns the address of a file below the roots; relative paths begin at the first one.
fn file(path: &str, roots: &[AbsPath]) -> Option<String> {
    let path = path.split(['#', '?']).next()?;
    let path = path.split_once(':').map_or(path, |(path, _)| path);
    let first = roots.first()?;
    if path.is_empty() || path.chars().any(char::is_control) {
        return None;
    }
    let full = if path.starts_with('/') { AbsPath::new(path).ok()? } else { first.join(path) };
    let below = |root: &AbsPath| {
        let rest = full.as_str().strip_prefix(root.as_str().trim_end_matches('/'));
        rest.is_some_and(|rest| rest.starts_with('/'))
    };
    roots.iter().any(below).then(|| format!("file://{}", encoded(full.as_str())))
}

/// Encodes what an address cannot contain.
fn encoded(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' | b'~' | b'+' | b'@' | b'=' | b',' => out.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => out.push(char::from(byte)),
            byte => write!(out, "%{byte:02X}").expect("a string can be written to"),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_web_and_files_below_the_roots_are_linked() {
        let roots = [AbsPath::new("/w/shop").unwrap(), AbsPath::new("/lib").unwrap()];
        let long = format!("https://a.example/{}", "x".repeat(MAX_HYPERLINK));
        for (address, expected) in [
            ("https://doc.rust-lang.org/book/?a=1#b", Some("https://doc.rust-lang.org/book/?a=1#b")),
            ("http://[::1]:80/", Some("http://[::1]:80/")),
            ("https://good.example@evil.example/", None),
            ("https://", None),
            ("https:///x", None),
            ("https://a.example/\u{1b}[2J", None),
            ("https://a.example/\u{202e}", None),
            ("https://ex\u{e4}mple.org", None),
            (long.as_str(), None),
            ("javascript:alert(1)", None),
            ("mailto:a@b.example", None),
            ("ftp://a.example/", None),
            ("ssh://a.example/", None),
            ("src/page.rs", Some("file:///w/shop/src/page.rs")),
            ("src/page.rs#L12", Some("file:///w/shop/src/page.rs")),
            ("page.rs:12:3", Some("file:///w/shop/page.rs")),
            ("./a b;\u{e9}.rs", Some("file:///w/shop/a%20b%3B%C3%A9.rs")),
            ("/lib/x", Some("file:///lib/x")),
            ("file:///w/shop/x", Some("file:///w/shop/x")),
            ("file:///etc/passwd", None),
            ("file://evil.example/w/shop/x", None),
            ("/etc/passwd", None),
            ("../other/x", None),
            ("src/../../../etc/passwd", None),
            ("/w/shopping/x", None),
            ("#part", None),
            ("", None),
        ] {
            assert_eq!(target(address, &roots).as_deref(), expected, "{address}");
        }
        assert_eq!(target("src/page.rs", &[]), None, "files of another machine");
    }
}
