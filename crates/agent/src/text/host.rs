//! Extracts the host of a URL, so strictly that no other parser can extract a different one.

/// Returns the host of an `http` or `https` URL in lower case.
///
/// `None` for everything that two parsers might read differently: user names, escapes, non-ASCII
/// characters, numeric addresses.
pub(crate) fn of(address: &str) -> Option<String> {
    let lower = address.to_ascii_lowercase();
    let rest = lower.strip_prefix("https://").or_else(|| lower.strip_prefix("http://"))?;
    if address.chars().any(|c| c.is_control() || c.is_whitespace() || c == '\\') {
        return None;
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = match authority.rsplit_once(':') {
        None => authority,
        Some((host, port)) if port.parse::<u16>().is_ok() && !port.starts_with('+') => host,
        Some(_) => return None,
    };
    name(host)
}

/// Normalises a host name for comparison; `None` if it is invalid or a numeric address.
pub(crate) fn name(text: &str) -> Option<String> {
    let host = text.to_ascii_lowercase();
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    };
    let last = host.rsplit('.').next().unwrap_or_default();
    // Some parsers read `0x7f.1`, `127.1` and `2130706433` as addresses.
    let number = last.starts_with(|c: char| c.is_ascii_digit());
    (host.len() <= 253 && !number && host.split('.').all(label)).then_some(host)
}

/// Whether a host is a domain itself or one of its subdomains.
pub(crate) fn is_below(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s23_a_host_is_read_one_way_or_not_at_all() {
        for (address, expected) in [
            ("https://ok.com", Some("ok.com")),
            ("HTTPS://Docs.OK.com:8443/a?b=@c#d", Some("docs.ok.com")),
            ("http://localhost:80/", Some("localhost")),
            ("https://ok.com.evil/", Some("ok.com.evil")),
            ("https://ok.com@evil.com/", None),
            ("https://evil\0.ok.com/", None),
            ("https://evil.com\\.ok.com/", None),
            ("https://ok.com./", None),
            ("https://оk.com/", None),
            ("https://xn--k-0tb.com/", Some("xn--k-0tb.com")),
            ("https://127.0.0.1/", None),
            ("https://2130706433/", None),
            ("https://0x7f.1/", None),
            ("https://[::1]/", None),
            ("https://ok.com%2eevil/", None),
            ("https://ok.com:1:2/", None),
            ("https://ok.com:+80/", None),
            ("https:ok.com", None),
            ("ftp://ok.com", None),
            ("https:///ok.com", None),
        ] {
            assert_eq!(of(address).as_deref(), expected, "{address:?}");
        }
        for (host, below) in [("ok.com", true), ("a.ok.com", true), ("evilok.com", false), ("com", false)] {
            assert_eq!(is_below(host, "ok.com"), below, "{host}");
        }
    }
}
